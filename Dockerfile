# The pinned environment of envs/requirements.lock and the repository, for a user without rights:
#   docker build -t fairfl . && docker run --rm -v "$PWD/results:/fairfl/results" fairfl run
FROM python:3.11-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*

# Results that are written into a mounted folder belong to this user: --build-arg UID=$(id -u)
ARG UID=1000
RUN useradd --create-home --uid "$UID" fairfl && install -d -o fairfl /fairfl
USER fairfl
WORKDIR /fairfl

# Installed before the code is there, so that an edit installs nothing again; every package by its hash.
COPY --chown=fairfl envs/requirements.lock envs/
COPY --chown=fairfl Makefile ./
RUN PIP_NO_CACHE_DIR=1 make setup
COPY --chown=fairfl . .
# The lock is not newer than the environment that was made from it.
RUN touch .venv/ready

ENV PATH=/fairfl/.venv/bin:$PATH
ENTRYPOINT ["fairfl"]
CMD ["--help"]
