/**
 * Which tests belong where, and why. `npm test` states every guarantee of the product once, on the embedded PostgreSQL and the disk, in
 * minutes. `npm run check` adds what repeats a guarantee elsewhere or costs more than it proves to a newcomer. A test of the specification, of
 * money or of tenants is never in `check` alone.
 */

type Rule = { files: RegExp; why: string }

/** Left out of `npm test`. The end of its run counts them by reason. */
export const CHECK_ONLY: readonly Rule[] = [
  {
    files: /^test\/crash\/(?!in-process)/,
    why: 'real kills and restarts of whole services; npm test throws at the same points inside one process',
  },
  {
    files: /^test\/(cli\/|http\/identity\/admin)/,
    why: 'commands, each in processes of its own; npm test calls the same functions inside one',
  },
  {
    files: /^test\/platform\/(blobs\/s3|embedded-postgres|copy|data-dir|db-outages)/,
    why: 'buckets, and PostgreSQL started, stopped and lost; npm test works on a running one and on the disk',
  },
  {
    files: /^test\/console\/(?!journeys|strings|chat\/request)/,
    why: 'each page of the console closely, in every language, theme and width; npm test makes the main journeys',
  },
  {
    files:
      /^test\/(engines\/(repair|media-children|video\/storyboard\/(?!contract))|flow\/(moderation\/(media|output)|output|variants)|http\/videos\/variants)/,
    why: 'media encoded by FFmpeg as WebAssembly, seconds of CPU each; npm test renders one clip and judges its inputs',
  },
  {
    files:
      /^test\/(engines\/chat\/sandbox\/(effort|schema-limits)|laws\/(large-bodies|longest-turns|long-work)|platform\/json\.)/,
    why: 'measures of processor time',
  },
  {
    files: /^test\/clients\/(codex|examples|generators|judges|openapi|strict-python)/,
    why: 'clients, generators and judges that npm ci does not bring, and programs of the examples',
  },
  {
    files: /^test\/(repo|deploy|bench|http\/(contract|openapi))\b/,
    why: 'documents, packaging, files for deployment and the arithmetic of benchmarks',
  },
]

/** Where PostgreSQL decides: money, jobs, state and tenants. `check` runs them again on 16 and 17, each file on one of the two in turn. */
export const ON_OTHER_DATABASES =
  /^test\/(cli\/(backup|database-move)|flow\/(cancel\.|chat\/(charge-faults|metering)|files-retention|group-outcomes|nodes|pinned-inputs|responses\/(attempts|drain)|retention|states|webhooks\/(backlog|claims|delivery|indexes))|http\/(billing|responses\/(chain|history|stored)|tenant|videos\/(acceptance|create-order|idempotency|list-filters)|webhooks\/redeliver)|laws\/(model|races)|platform\/(copy|database-lock|db|migrate|one-connection|queue\/(?!lost-claims)|sweep))/

/** Where the storage decides: what is kept, delivered, and removed when it is due. `check` runs them again with a bucket. */
export const ON_BUCKET =
  /^test\/(flow\/(cancel|installation|pinned-inputs|references|retention|states|variants)|http\/videos\/content)\.test/

/** Whether this run is `npm run check`. */
const CHECK = process.env.KINORA_TESTS === 'check'

/** All of `list` in `npm run check`, its first in `npm test`. */
export function firstUnlessCheck<T>(list: readonly T[]): readonly T[] {
  return CHECK ? list : list.slice(0, 1)
}

/** How often a random test tries: `count` in `npm run check`, a quarter of it in `npm test` and on other databases, and what `variable` says where it is set. */
export function trials(count: number, variable = 'RUNS'): number {
  return Number(process.env[variable] ?? (CHECK ? count : Math.ceil(count / 4)))
}

/** How often a race is run: once where the file runs again on another database, and what `ROUNDS` says where it is set. */
export function roundsOf(count: number): number {
  return Number(process.env.ROUNDS ?? (process.env.KINORA_TESTS === 'again' ? 1 : count))
}

/** The reason of the first rule that names this file. */
export function reasonIn(rules: readonly Rule[], path: string): string | undefined {
  return rules.find(({ files }) => files.test(path))?.why
}
