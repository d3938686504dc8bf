# One image for all services and the command line. The command chooses: `services/NAME/bin/main.js`, or `packages/cli/bin/flotilla.js`.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /flotilla
RUN npm install --global pnpm@12.21.0
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml tsconfig.base.json LICENSE NOTICE ./
COPY packages packages
COPY services services
COPY scripts/bundle scripts/bundle
COPY samples samples
# With development dependencies: the command line is bundled, so that its package has no others.
RUN pnpm install --frozen-lockfile --filter './packages/**' --filter './services/**' --filter @flotilla/bundle \
  && node scripts/bundle/image.ts /bundle

# Node and the libraries it loads, one user, directories: no shell, no package manager, no other program.
FROM ${NODE_IMAGE} AS base
RUN install -D -t /image/usr/local/bin /usr/local/bin/node \
  && ldd /usr/local/bin/node | grep -o '/[^ ]*' | xargs -I '{}' cp -L --parents '{}' /image \
  && install -d -m 1777 /image/tmp && install -d -m 700 /image/root && install -d /image/etc \
  && echo 'root:x:0:0:root:/root:' > /image/etc/passwd && echo 'flotilla:x:1337:1337::/var/lib/flotilla:' >> /image/etc/passwd \
  && echo 'root:x:0:' > /image/etc/group && echo 'flotilla:x:1337:' >> /image/etc/group \
  && echo 'hosts: files dns' > /image/etc/nsswitch.conf \
  # A volume that is mounted for the first time takes its owner from the directory in the image.
  && cd /image && install -d -o 1337 -g 1337 var/lib/flotilla var/lib/flotilla/ca volumes tokens tokens/istio-system tokens/shop \
  && cd volumes && install -d -o 1337 -g 1337 state issuer seal ca config-controller webhook nats nats-certificates redis redis-certificates \
    redis-passwords web reviews \
  && cd ../tokens/istio-system && install -d -o 1337 -g 1337 flotilla-nats flotilla-redis flotilla-config-controller \
    flotilla-service-controller flotilla-xds-server flotilla-webhook flotilla-console ../shop/web ../shop/reviews
COPY scripts/deployment/image /image/usr/local/bin/
# Beside that of the bundle: Node, and the packages of Debian that its libraries come from.
COPY scripts/bundle/base-sbom.ts /tmp/
RUN node /tmp/base-sbom.ts /image > /image/sbom.base.cyclonedx.json

FROM scratch
COPY --from=base /image /
COPY --from=build /bundle /flotilla
WORKDIR /flotilla
USER 1337:1337
ENV NODE_ENV=production WORK_DIR=/var/lib/flotilla FLOTILLA_WORK_DIR=/var/lib/flotilla
ENV PATH=/usr/local/bin
# As memoryEnvironment in packages/runtime/src/memory.ts has it.
ENV NODE_OPTIONS=--max-semi-space-size=8 MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=16384 MALLOC_MMAP_MAX_=30000 MALLOC_TRIM_THRESHOLD_=1048576
ENTRYPOINT ["node"]
CMD ["services/xds-server/bin/main.js"]
