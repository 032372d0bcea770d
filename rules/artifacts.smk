# tidy(setting) -> table | figure (paper, artifact)


ARTIFACT = Recorded("{paper}/{artifact}")


rule table:
    input:
        ARTIFACT.reads(
            files=lambda wc: layout.artifact_input_list(f"{wc.paper}_{wc.artifact}"),
        ),
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
        made=ARTIFACT.made,
    shell:
        job("fairfl.jobs.table", "--csv {output.csv:q} --md {output.md:q} --tex {output.tex:q}")


rule figure:
    input:
        ARTIFACT.reads(
            files=lambda wc: layout.artifact_input_list(f"{wc.paper}_{wc.artifact}"),
        ),
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
        made=ARTIFACT.made,
    shell:
        job("fairfl.jobs.figure", "--csv {output.csv:q} --pdf {output.pdf:q} --png {output.png:q}")
