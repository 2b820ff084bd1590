# The server only. Linted but never run: the project has no Docker engine.
FROM debian:bookworm-slim AS build
WORKDIR /lyceum
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential ca-certificates curl nodejs npm \
    && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cd web && npm ci --ignore-scripts --no-audit --no-fund
RUN version="$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)" \
    && base="https://static.rust-lang.org/rustup/dist/$(uname -m)-unknown-linux-gnu" \
    && curl --fail --silent --show-error --output /tmp/rustup-init "$base/rustup-init" \
    && chmod +x /tmp/rustup-init \
    && /tmp/rustup-init -y --quiet --profile minimal --default-toolchain "$version"
RUN /root/.cargo/bin/cargo build --locked --release --package lyceum-server

FROM debian:bookworm-slim
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /var/lib/lyceum lyceum \
    && install --directory --owner=lyceum --group=lyceum /artifacts
COPY --from=build /lyceum/target/release/lyceum /usr/local/bin/lyceum
USER 10001
ENV LYCEUM_DATA=/var/lib/lyceum LYCEUM_HOST=0.0.0.0 LYCEUM_LOG_FORMAT=json
VOLUME /var/lib/lyceum
EXPOSE 7654
CMD ["lyceum", "server"]
