import type { UpstreamReply } from './chat-upstream.ts'

/** What a server answered with status and body, and what the log has of it. A body that is a text is sent as `text/plain`. */
export type Wording = [server: string, status: number, body: unknown, reason: RegExp]

const error = (message: string, more: object = {}) => ({ error: { message, ...more } })

/** What the client can do nothing about: the model, the address, the account. */
export const OPERATORS_MATTERS: readonly Wording[] = [
  // https://github.com/mozilla-ai/any-llm/issues/778
  [
    'Moonshot',
    404,
    error('Not found the model kimi-k9 or Permission denied', { type: 'resource_not_found_error' }),
    /Not found/,
  ],
  // The same where a gateway changes the status
  ['Moonshot', 400, error('Not found the model kimi-k9 or Permission denied'), /Not found/],
  // https://github.com/MicrosoftDocs/azure-docs/issues/114013
  [
    'Azure',
    404,
    error('The API deployment for this resource does not exist.', { code: 'DeploymentNotFound' }),
    /deployment/,
  ],
  // https://github.com/valentinfrlch/ha-llmvision/issues/324
  [
    'Groq',
    400,
    error('The model `x` has been decommissioned and is no longer supported.', { code: 'model_decommissioned' }),
    /decommissioned/,
  ],
  ['Groq', 400, error('The model x has been decommissioned and is no longer supported.'), /decommissioned/],
  // The Messages API in 2026
  ['Anthropic', 404, { type: 'error', error: { type: 'not_found_error', message: 'model: claude-9' } }, /claude-9/],
  // https://github.com/anthropics/claude-quickstarts/issues/229
  ['Anthropic', 400, error('Your credit balance is too low to access the Anthropic API.'), /credit balance/],
  // https://github.com/RooCodeInc/Roo-Code/issues/9182
  ['Bedrock', 400, { message: 'The provided model identifier is invalid.' }, /identifier/],
  // https://github.com/google-gemini/gemini-cli/issues/14603
  ['Gemini', 400, [error("You don't have access to this model or the model name is invalid")], /model name/],
  // https://github.com/google-gemini/gemini-cli/issues/24641
  ['Gemini', 400, [error('User location is not supported for the API use.')], /location/],
  // Ark's table of errors: InvalidEndpointOrModel.NotFound
  [
    'Ark',
    404,
    error('The model or endpoint x does not exist or you do not have access to it.', {
      code: 'InvalidEndpointOrModel.NotFound',
    }),
    /endpoint/,
  ],
  ['Ark', 400, error('No access.', { code: 'InvalidEndpointOrModel.NotFound' }), /access/],
  // LM Studio 0.3
  ['LM Studio', 400, { error: 'No models loaded. Please load a model in the developer page.' }, /No models/],
  // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1492
  ['LM Studio', 400, error('Failed to load model "x". Error: Model loading was stopped.'), /Failed to load/],
  // https://github.com/Alishahryar1/free-claude-code/issues/956
  [
    'NIM',
    404,
    { status: 404, title: 'Not Found', detail: "Function '1234': Not found for account 'Ab1'" },
    /for account/,
  ],
  // https://github.com/cloudflare/agents/issues/1328
  [
    'Cloudflare',
    400,
    { success: false, errors: [{ code: 5007, message: 'No such model @cf/x or task' }] },
    /No such model/,
  ],
  [
    'Cloudflare, under 200',
    200,
    { success: false, errors: [{ message: 'No such model @cf/x or task' }] },
    /No such model/,
  ],
  // https://docs.bigmodel.cn/cn/api/api-code
  ['Zhipu', 400, error('模型不存在，请检查模型代码。', { code: '1211' }), /模型不存在/],
  ['Zhipu', 400, error('您的账户已欠费，请充值后重试。', { code: '1113' }), /欠费/],
  // https://github.com/unoplat/unoplat-code-confluence/issues/1080
  ['OpenRouter', 404, error('No endpoints found matching your data policy (Paid model training).'), /data policy/],
  // The same beside `metadata.available_providers`, in 2026
  ['OpenRouter', 404, error('No allowed providers are available for the selected model.'), /providers/],
  ['a gateway', 404, error('Resource not found. Please contact support.'), /contact support/],
  ['a gateway', 404, error('Not found. Our support team can help.'), /support team/],
  // net/http of Go
  ['a server without the path', 404, '404 page not found\n', /page not found/],
  ['a server at another address', 307, '', /^$/],
  // FastAPI
  ['a server that takes no POST here', 405, { detail: 'Method Not Allowed' }, /Method/],
  // https://github.com/vllm-project/vllm/issues/9986, https://github.com/vllm-project/vllm/issues/29849
  ...[
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    'As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template.',
  ].map((message): Wording => ['vLLM', 400, { object: 'error', message, code: 400 }, /chat template|requires/]),
  // llama.cpp, tools/server/utils.hpp
  ['llama.cpp', 500, error('tools param requires --jinja flag', { code: 500, type: 'server_error' }), /jinja/],
  // https://github.com/BerriAI/litellm/issues/14144, https://github.com/BerriAI/litellm/issues/4208
  ...['budget_exceeded', 'auth_error'].map((type): Wording => {
    const message = 'Budget has been exceeded! Current cost: 14.2, Max budget: 10.0'
    return ['LiteLLM', 400, error(message, { type, code: '400' }), /Budget/]
  }),
  [
    'LiteLLM',
    400,
    error('ExceededBudget: End User=x over budget. Spend=0.2, Budget=0.1', { code: 400 }),
    /over budget/,
  ],
  // https://github.com/songquanpeng/one-api/issues/1764
  ['Groq', 400, error('Organization has been restricted.', { code: 'organization_restricted' }), /restricted/],
  // https://console.groq.com/docs/spend-limits
  [
    'Groq',
    400,
    error('API access is blocked because the spend limit was reached.', { code: 'blocked_api_access' }),
    /spend/,
  ],
  // https://github.com/Bin-Huang/chatbox/issues/2263
  [
    'OpenAI',
    400,
    error('Your organization must be verified to stream this model.', { param: 'stream', code: 'unsupported_value' }),
    /verified/,
  ],
  ['OpenAI', 400, error('Your organization must be verified to generate reasoning summaries.'), /verified/],
  ['Gemini', 400, [error('API key expired. Please renew the API key.')], /expired/],
  ['Gemini', 400, [error('Missing or invalid Authorization header.')], /Authorization/],
  ['Azure', 400, error('API version not supported', { code: 'BadRequest' }), /version/],
  [
    'Azure',
    400,
    error('The chatCompletion operation does not work with the specified model, x.', { code: 'OperationNotSupported' }),
    /does not work/,
  ],
  ['Tencent', 400, error('Resource exhausted: free quota used up, enable postpaid', { code: '20059' }), /used up/],
  ['Hugging Face', 404, { error: 'Model x/y is not supported by any provider you have enabled.' }, /provider/],
  // https://docs.fireworks.ai/guides/inference-error-codes
  [
    'Fireworks',
    412,
    error('Account x is suspended, possibly due to reaching the monthly spending limit.'),
    /suspended/,
  ],
]

/** An account without a balance is busy for as long as the operator does nothing: another server may still take the request. */
export const EMPTY_ACCOUNTS: readonly Wording[] = [
  ['OpenAI', 429, error('You exceeded your current quota.', { code: 'insufficient_quota' }), /quota/],
  ['OpenAI', 429, error('Your account is not active.', { type: 'billing_not_active' }), /not active/],
  // https://github.com/continuedev/continue/issues/11823
  ['Zhipu', 429, error('余额不足或无可用资源包,请充值。', { code: '1113' }), /余额/],
  ['Zhipu', 429, error('Insufficient balance or no resource package. Please recharge.', { code: '1113' }), /balance/],
  // https://github.com/MoonshotAI/kimi-code/pull/1857
  ['Moonshot', 429, error('Please check your plan.', { type: 'exceeded_current_quota_error' }), /plan/],
  // https://github.com/continuedev/continue/issues/10740
  [
    'xAI',
    429,
    { code: 'Some resource has been exhausted', error: 'Your team x has used all available credits.' },
    /available credits/,
  ],
  [
    'LiteLLM',
    429,
    error('Budget has been exceeded! Current cost: 26', { type: 'budget_exceeded', code: '429' }),
    /Budget/,
  ],
]

/** What is busy, without more to it. Gemini says of a limit by minute what OpenAI says of an empty account. */
export const BUSY: readonly Wording[] = [
  [
    'Gemini',
    429,
    [error('You exceeded your current quota, please check your plan and billing details.', { code: 429 })],
    /quota/,
  ],
  ['Cohere', 429, { message: 'You are using a Trial key, which is limited to 1000 API calls / month.' }, /Trial/],
  ['Hugging Face', 424, { error: 'Model too busy, unable to get response in less than 60 second(s)' }, /busy/],
]

/** The model wrote what the server cannot use: another try may do better. */
export const MISWRITTEN: readonly Wording[] = [
  // https://github.com/groq/groq-typescript/issues/28
  ...['tool_use_failed', 'json_validate_failed'].map((code): Wording => {
    const message = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."
    return ['Groq', 400, error(message, { code, failed_generation: '<function=look>{"at": 1' }), /Failed to call/]
  }),
]

/** What the server's own filter refused. */
export const FILTERED: readonly Wording[] = [
  // https://github.com/666ghj/BettaFish/issues/108
  ['DeepSeek', 400, error('Content Exists Risk', { code: 'invalid_request_error' }), /Risk/],
  // https://github.com/deepseek-ai/DeepSeek-V2/issues/30
  ['DeepSeek', 400, { detail: 'Content Exists Risk' }, /Risk/],
  // https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267
  [
    'xAI',
    403,
    { code: 'The caller does not have permission', error: 'Content violates usage guidelines. Team: x' },
    /usage guidelines/,
  ],
  // https://openrouter.ai/docs/api/reference/errors-and-debugging, moderation
  [
    'OpenRouter',
    403,
    error('x/y requires moderation. Your input was flagged for "violence".', { code: 403, metadata: { reasons: [] } }),
    /flagged/,
  ],
  ['StepFun', 451, error('The content is blocked.', { type: 'censorship_blocked' }), /blocked/],
  // Reported of Vertex; the exact words are not known
  ['Vertex', 400, [error('The prompt was blocked: it exceeds the safety threshold.')], /safety/],
  [
    'Vertex',
    400,
    [
      error(
        "The prompt could not be submitted. It contains sensitive words that violate Google's Responsible AI practices.",
      ),
    ],
    /Responsible/,
  ],
]

/** Where else than in `error.message` servers say why. */
export const PLACES: readonly Wording[] = [
  // https://docs.rs/axum/latest/axum/extract/rejection/index.html
  ['axum', 422, 'Failed to deserialize the JSON body into the target type: missing field `x` at line 1', /deserialize/],
  ['Zhipu', 400, { code: 1214, msg: 'The next message is wrong.', success: false }, /next message/],
  ['Zhipu, in Chinese', 400, error('角色信息不正确', { code: '1214' }), /角色信息/],
  // https://github.com/cloudflare/workerd/issues/5261
  ['Cloudflare', 400, { success: false, errors: [{ code: 5006, message: 'AiError: Bad input' }] }, /Bad input/],
  ['a list of texts', 400, { errors: ['The next message is wrong.'] }, /next message/],
  // https://github.com/MiniMax-AI/MiniMax-M2/issues/69
  ['MiniMax', 400, { base_resp: { status_code: 2013, status_msg: 'invalid params, no call' } }, /no call/],
  // https://ai.baidu.com/ai-doc/WENXINWORKSHOP/tlmyncueh
  ['Baidu', 400, { error_code: 336003, error_msg: 'The number of messages must be odd' }, /odd/],
  // NestJS 10
  ['Nest', 400, { statusCode: 400, message: ['The next message is wrong.'], error: 'Bad Request' }, /next message/],
  // API Gateway
  ['AWS', 400, { Message: 'Malformed input request' }, /Malformed/],
  ['an error in an error', 400, { error: error('The next message is wrong.') }, /next message/],
  ['JSON in a message', 400, error(JSON.stringify(error('The next message is wrong.'))), /^The next message/],
  // https://openrouter.ai/docs/api/reference/errors-and-debugging, provider errors
  [
    'OpenRouter',
    400,
    error('Provider returned error', { code: 400, metadata: { raw: error('The next message is wrong.') } }),
    /next message/,
  ],
  // pydantic repeats the field that it refuses
  [
    'FastAPI, with 100 KB of the request',
    422,
    { detail: [{ input: 'z'.repeat(100_000), loc: ['body', 'seed'], msg: 'Extra inputs are not permitted' }] },
    /Extra inputs/,
  ],
]

const plain = (body: unknown): UpstreamReply => ({ kind: 'json', body })
const event = (body: object): UpstreamReply => ({ kind: 'stream', frames: [body], done: false })

/** Errors in the place of an answer, under status 200. */
export const INSTEAD: ReadonlyArray<[what: string, reply: UpstreamReply, kind: string, reason: RegExp]> = [
  ['code and message', plain({ code: 400, message: 'The next message is wrong.' }), 'rejected', /next message/],
  ['code and message, in an event', event({ code: 400, message: 'The next message is wrong.' }), 'rejected', /next/],
  ['detail', plain({ detail: 'The next message is wrong.' }), 'failed', /next message/],
  ['detail, in an event', event({ detail: 'The next message is wrong.' }), 'failed', /next message/],
  ...[plain, event].map((send): (typeof INSTEAD)[number] => [
    'base_resp of MiniMax',
    send({
      id: 'x',
      choices: null,
      usage: { total_tokens: 0 },
      base_resp: { status_code: 1002, status_msg: 'rate limit' },
    }),
    ...(['overloaded', /rate limit/] as const),
  ]),
  [
    'too long a prompt, of llama.cpp',
    event({ error: { code: 500, message: 'Context size has been exceeded.', type: 'server_error' } }),
    ...(['context_length', /Context size/] as const),
  ],
]
