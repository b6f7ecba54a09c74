# An image with nothing but two static programs: bin/assay, which also runs as k6, and
# bin/assay-lab, the reference service. It is built without a network, from bin/ (`make build`)
# and from bin/k6 and runs/, which docker/setup.sh creates.
#
#   make image
#   docker run --rm assay:local --help
#   docker run --rm --entrypoint k6 assay:local version
#
# The image also has bin/notices.txt (`make notices`), the terms of the third-party code in
# the program, if that file is there.
#
# The program contains the public certificate authorities. Others are read from
# /etc/ssl/certs, if they are mounted there.
FROM scratch

# The whole folder: of a single file, COPY would follow the link k6 -> assay.
COPY bin/ /usr/local/bin/
ENV PATH=/usr/local/bin

# An empty folder: the image has no shell to create one that root does not own.
COPY --chown=65532:65532 runs/ /certification/runs/
VOLUME /certification/runs
WORKDIR /certification

# An unused id. docker-compose.yml sets that of the user who owns runs/.
USER 65532:65532

ENTRYPOINT ["assay"]
CMD ["--help"]
