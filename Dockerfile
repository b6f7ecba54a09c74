# Assay in an image of nothing else: bin/assay, a static program, which answers
# as k6 too. Built without a network from what `make build` (or your own copy of
# the program) and docker/setup.sh left in bin/ and runs/: see .dockerignore.
#
#   make image
#   docker run --rm assay:local --help
#   docker run --rm --entrypoint k6 assay:local version
#
# Certificate authorities are inside the program; one of your own is taken from
# /etc/ssl/certs when you mount it there.
FROM scratch

# A folder, as only then the link k6 -> assay stays a link.
COPY bin/ /usr/local/bin/
ENV PATH=/usr/local/bin

# An empty folder, as there is no shell to make one that is not root's.
COPY --chown=65532:65532 runs/ /certification/runs/
VOLUME /certification/runs
WORKDIR /certification

# Nobody's number. Compose names another, so that runs/ belongs to you.
USER 65532:65532

ENTRYPOINT ["assay"]
CMD ["--help"]
