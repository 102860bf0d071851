/** A hosted engine on the engine server, and how its calls are recognized. `lists`: whether a start can be found again. */
export type Hosted = { name: string; engine: string; lists: boolean; poll: Call; cancel: Call }
type Call = { method: string; path: RegExp }

const tasks = (dialect: string, path: string, query: string): Hosted => ({
  name: `content-tasks ${dialect}`,
  engine: `{ kind: content-tasks, dialect: ${dialect}, base_url: "{engines}", api_key: k, model: MiniMax-H3 }`,
  lists: true,
  poll: { method: 'GET', path: new RegExp(`${query}/[^/?]+$`) },
  cancel: { method: 'DELETE', path: new RegExp(`${path}/`) },
})

const INPUT = '{ prompt: "{{prompt}}", duration: "{{seconds}}", aspect_ratio: "{{aspect_ratio}}", seed: "{{seed}}" }'
const catalog = (dialect: string, rest: Pick<Hosted, 'lists' | 'poll' | 'cancel'>): Hosted => ({
  name: `queue ${dialect}`,
  engine: `{ kind: queue, dialect: ${dialect}, base_url: "{engines}/${dialect}", api_key: k, model: minimax/h3, input: ${INPUT} }`,
  ...rest,
})

export const HOSTED: readonly Hosted[] = [
  tasks('minimax', '/v2/video_generation', '/v2/query/video_generation'),
  tasks('ark', '/contents/generations/tasks', '/contents/generations/tasks'),
  catalog('replicate', {
    lists: true,
    poll: { method: 'GET', path: /\/predictions\/[^/?]+$/ },
    cancel: { method: 'POST', path: /\/cancel$/ },
  }),
  catalog('fal', {
    lists: false,
    poll: { method: 'GET', path: /\/status/ },
    cancel: { method: 'PUT', path: /\/cancel$/ },
  }),
]
