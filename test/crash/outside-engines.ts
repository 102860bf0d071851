import { workflowOf } from '../engines/video/comfyui/workflows.ts'

/**
 * An engine on the engine server, and how its calls are recognized. `finds`: a start without an answer is found again, or repeated with the
 * same id. `poll`: null where a start asks the same. `cancel`: null where renders cannot be stopped.
 */
export type OutsideEngine = { name: string; engine: string; finds: boolean; poll: Call | null; cancel: Call | null }
type Call = { method: string; path: RegExp }

const tasks = (dialect: string, path: string, query: string): OutsideEngine => ({
  name: `content-tasks ${dialect}`,
  engine: `{ kind: content-tasks, dialect: ${dialect}, base_url: "{engines}", api_key: k, model: MiniMax-H3 }`,
  finds: true,
  poll: { method: 'GET', path: new RegExp(`${query}/[^/?]+$`) },
  cancel: { method: 'DELETE', path: new RegExp(`${path}/`) },
})

const INPUT = '{ prompt: "{{prompt}}", duration: "{{seconds}}", aspect_ratio: "{{aspect_ratio}}", seed: "{{seed}}" }'
const catalog = (dialect: string, rest: Pick<OutsideEngine, 'finds' | 'poll' | 'cancel'>): OutsideEngine => ({
  name: `queue ${dialect}`,
  engine: `{ kind: queue, dialect: ${dialect}, base_url: "{engines}/${dialect}", api_key: k, model: minimax/h3, input: ${INPUT} }`,
  ...rest,
})

/** Every adapter of a server, its dialects where they differ in what they can find. */
export const OUTSIDE: readonly OutsideEngine[] = [
  tasks('minimax', '/v2/video_generation', '/v2/query/video_generation'),
  tasks('ark', '/contents/generations/tasks', '/contents/generations/tasks'),
  catalog('replicate', {
    finds: true,
    poll: { method: 'GET', path: /\/predictions\/[^/?]+$/ },
    cancel: { method: 'POST', path: /\/cancel$/ },
  }),
  catalog('fal', {
    finds: false,
    poll: { method: 'GET', path: /\/status/ },
    cancel: { method: 'PUT', path: /\/cancel$/ },
  }),
  {
    name: 'ai-sdk',
    finds: false,
    cancel: null,
    engine:
      '{ kind: ai-sdk, package: "@ai-sdk/google", base_url: "{engines}/v1beta", api_key: secret-key, model: veo }',
    poll: { method: 'GET', path: /\/operations\/[^/]+$/ },
  },
  {
    name: 'videos-api openai',
    finds: true,
    engine: '{ kind: videos-api, dialect: openai, base_url: "{engines}", model: wan }',
    poll: { method: 'GET', path: /\/v1\/videos\/[^/?]+$/ },
    cancel: { method: 'DELETE', path: /\/v1\/videos\/[^/?]+$/ },
  },
  {
    name: 'comfyui',
    finds: true,
    engine: `{ kind: comfyui, base_url: "{engines}", workflows: ${JSON.stringify({ text: workflowOf() })} }`,
    poll: null,
    cancel: { method: 'POST', path: /\/(queue|interrupt)$/ },
  },
]

/** The id of the model that the engine has in a configuration of several. */
export function modelOf({ name }: OutsideEngine): string {
  return name.replaceAll(' ', '-')
}

export function modelsOf(engines: readonly OutsideEngine[]): Record<string, string> {
  return Object.fromEntries(engines.map((each) => [modelOf(each), each.engine]))
}
