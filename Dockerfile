# One image for all services; the command chooses which: `services/<name>/bin/main.ts`.
FROM node:24-bookworm-slim AS build
WORKDIR /flotilla
RUN npm install --global pnpm@12.21.0
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
COPY packages packages
COPY services services
# The workspace layout stays: Node strips types outside of node_modules only.
RUN pnpm install --frozen-lockfile --prod --no-optional \
  && find . -name '*.test.ts' -not -path '*/node_modules/*' -delete

FROM node:24-bookworm-slim
WORKDIR /flotilla
COPY --from=build --chown=root:root /flotilla /flotilla
RUN groupadd --gid 1337 flotilla && useradd --uid 1337 --gid 1337 --no-create-home flotilla \
  && install -d -o 1337 -g 1337 /var/lib/flotilla
USER 1337:1337
ENV NODE_ENV=production WORK_DIR=/var/lib/flotilla
# As memoryEnvironment in packages/runtime/src/memory.ts has it.
ENV NODE_OPTIONS=--max-semi-space-size=8 MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=16384 MALLOC_MMAP_MAX_=30000 MALLOC_TRIM_THRESHOLD_=1048576
ENTRYPOINT ["node"]
CMD ["services/xds-server/bin/main.ts"]
