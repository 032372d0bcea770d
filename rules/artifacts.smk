# tidy(setting) -> table | figure (paper, artifact)


rule table:
    input:
        lambda wc: layout.artifact_input_list(f"{wc.paper}_{wc.artifact}"),
    output:
        csv=report(
            f"{RESULTS}/{{paper}}/{{artifact}}.csv",
            caption="report/artifact.rst",
            category="{paper}",
            subcategory="tables",
        ),
        md=f"{RESULTS}/{{paper}}/{{artifact}}.md",
        tex=f"{RESULTS}/{{paper}}/{{artifact}}.tex",
    log:
        f"{LOGS}/{{paper}}/{{artifact}}.log",
    wildcard_constraints:
        artifact=layout.ids("table", "static_table"),
    conda:
        "../envs/fairfl.yaml"
    params:
        spec=lambda wc: layout.artifact_spec(f"{wc.paper}_{wc.artifact}"),
    shell:
        "python -m fairfl.start fairfl.artifacts.table --spec {params.spec:q} --csv {output.csv:q} --md {output.md:q}"
        " --tex {output.tex:q} > {log:q} 2>&1"


rule figure:
    input:
        lambda wc: layout.artifact_input_list(f"{wc.paper}_{wc.artifact}"),
    output:
        csv=f"{RESULTS}/{{paper}}/{{artifact}}.csv",
        pdf=f"{RESULTS}/{{paper}}/{{artifact}}.pdf",
        png=report(
            f"{RESULTS}/{{paper}}/{{artifact}}.png",
            caption="report/artifact.rst",
            category="{paper}",
            subcategory="figures",
        ),
    log:
        f"{LOGS}/{{paper}}/{{artifact}}.log",
    wildcard_constraints:
        artifact=layout.ids("figure", "illustration"),
    conda:
        "../envs/fairfl.yaml"
    params:
        spec=lambda wc: layout.artifact_spec(f"{wc.paper}_{wc.artifact}"),
    shell:
        "python -m fairfl.start fairfl.artifacts.figure --spec {params.spec:q} --csv {output.csv:q}"
        " --pdf {output.pdf:q}"
        " --png {output.png:q} > {log:q} 2>&1"
