/** Folders of `server/`, and what each may import. Source: ARCHITECTURE.md, Layers. */
const BELOW = ['platform', 'config', 'context.ts', 'identity']
const DOMAIN = ['platform', 'config', 'engines', 'media', 'context.ts', 'identity']
const MAY_IMPORT = {
  platform: [],
  config: ['platform'],
  media: ['platform'],
  engines: ['platform', 'config', 'media'],
  'context.ts': ['platform', 'config', 'engines', 'operations'],
  identity: ['platform', 'config', 'context.ts'],
  nodes: ['platform', 'config'],
  operations: ['platform', 'nodes'],
  catalog: BELOW,
  webhooks: [...BELOW, 'nodes'],
  billing: [...BELOW, 'webhooks', 'catalog'],
  files: [...BELOW, 'media', 'catalog', 'billing'],
  chat: [...DOMAIN, 'catalog', 'files', 'billing'],
  videos: [...DOMAIN, 'catalog', 'files', 'billing', 'webhooks'],
  console: [...DOMAIN, 'catalog', 'files', 'billing', 'videos'],
  responses: [...DOMAIN, 'catalog', 'files', 'billing', 'webhooks', 'chat'],
  reload: [...DOMAIN, 'videos'],
  conversations: [...BELOW, 'billing', 'responses'],
}
/** They put the service together and may import all of it. */
const TOP = ['cli', 'audit', 'api-docs', 'assembly', 'app.ts', 'main.ts', 'health.ts']

const TESTS = '[.]test[.]tsx?$'
/** Which prompts are translated: the console rejects with the same code what the service could only fail. And what a saved clip is called. */
const SHARED_RULE = '^server/videos/(translation/(mask|detect-japanese)|archive/clip-name)[.]ts$'

/** Paths of folders and files of `server/`. */
function inServer(names) {
  const parts = names.map((name) => (name.endsWith('.ts') ? `${name.replace('.', '[.]')}$` : `${name}/`))
  return `^server/(${parts.join('|')})`
}

const layers = Object.entries(MAY_IMPORT).map(([folder, below]) => ({
  name: `server/${folder}-imports-only-what-is-below`,
  comment: `See the table of ARCHITECTURE.md: server/${folder} may import ${below.join(', ') || 'nothing else'}.`,
  severity: 'error',
  from: { path: inServer([folder]), pathNot: TESTS },
  to: { path: '^server/', pathNot: inServer([folder, ...below]) },
}))

/** Import rules, types included. `npm run lint` checks them. Source: docs/decisions/0046-what-lint-checks.md. */
export default {
  forbidden: [
    ...layers,
    {
      name: 'server-folder-without-a-row',
      comment: 'Every folder of server/ has a row in the table of ARCHITECTURE.md and in MAY_IMPORT.',
      severity: 'error',
      from: { path: '^server/', pathNot: [inServer([...Object.keys(MAY_IMPORT), ...TOP]), TESTS] },
      to: {},
    },
    {
      name: 'no-cycles',
      comment: 'No file imports itself over any number of others.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'server-imports-only-server',
      severity: 'error',
      from: { path: '^(server|bin)/', pathNot: TESTS },
      to: { path: '^(console|dev|bench|test)/' },
    },
    {
      name: 'tests-and-benchmarks-are-not-imported',
      severity: 'error',
      from: { path: '^(console|dev)/', pathNot: TESTS },
      to: { path: '^(bench|test)/' },
    },
    {
      name: 'console-imports-only-schemas-of-the-server',
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^server/', pathNot: ['/schema[.]ts$', SHARED_RULE] },
    },
    {
      name: 'console-imports-only-types-of-the-server',
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^server/', pathNot: SHARED_RULE, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-packages-of-a-production-install',
      comment: 'A service is installed without development packages.',
      severity: 'error',
      from: { path: '^(server|bin)/', pathNot: TESTS },
      to: { dependencyTypesNot: ['npm', 'npm-optional', 'core', 'local'], pathNot: 'node_modules/@opentelemetry/' },
    },
    {
      name: 'optional-packages-are-loaded-in-one-file',
      comment: 'Traces are optional, and that file says how to install them.',
      severity: 'error',
      from: { path: '^(server|bin)/', pathNot: [TESTS, '^server/platform/tracing/open[.]ts$'] },
      to: { path: 'node_modules/@opentelemetry/' },
    },
    {
      name: 'no-unresolved-imports',
      comment: 'A relative import names the file with its ending; a package is installed.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-name-that-excludes-nothing',
      comment: 'Name a file for what it does.',
      severity: 'error',
      from: {},
      to: {
        path: '^(server|console|dev|bench|test)/.*[-./](services?|managers?|helpers?|utils?|common|types|index|misc)[-.]',
        pathNot: '^(test/support|test/platform|bench/support)/service[.]ts$',
      },
    },
  ],
  options: {
    // TypeScript 7 has no API for the default parser.
    parser: 'swc',
    moduleSystems: ['es6', 'cjs'],
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^console/dist' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js'],
    },
  },
}
