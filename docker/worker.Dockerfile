# A worker; the build argument BOOTSTRAP=--cuda makes it one for GPUs. Linted but never run: the project has no Docker
# engine.
FROM debian:bookworm-slim AS build
WORKDIR /lyceum
COPY . .
ARG BOOTSTRAP=
# hadolint ignore=SC2086
RUN apt-get update && script/bootstrap --for demo $BOOTSTRAP && rm -rf /root/.cache/lyceum /var/lib/apt/lists/*
RUN PATH="$PATH:/root/.cargo/bin" cargo build --locked --release --package lyceum-worker

FROM debian:bookworm-slim
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /var/lib/lyceum lyceum \
    && install --directory --owner=lyceum --group=lyceum /artifacts /adapters /models
COPY --from=build /lyceum/.libtorch /opt/libtorch
COPY --from=build /lyceum/.venv /lyceum/.venv
COPY --from=build /lyceum/models /lyceum/models
COPY --from=build /lyceum/target/release/lyceum-worker /usr/local/bin/lyceum-worker
ENV LD_LIBRARY_PATH=/opt/libtorch/lib GOMP_SPINCOUNT=0 OMP_WAIT_POLICY=passive TORCH_CUDNN_SDPA_DEPRIORITIZED=1 \
    CUDA_DEVICE_ORDER=PCI_BUS_ID PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True LYCEUM_LOG_FORMAT=json
# Used by NVIDIA's container runtime only.
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001
WORKDIR /lyceum
CMD ["lyceum-worker", "work"]
