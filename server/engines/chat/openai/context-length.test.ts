import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readContextLength } from './context-length.ts'

const MESSAGES: Array<[server: string, message: string, limit: number | null, asked: number | null, input?: number]> = [
  // https://github.com/crewAIInc/crewAI-examples/issues/121
  [
    'OpenAI',
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.",
    8192,
    9000,
  ],
  // https://github.com/langchain-ai/langchain/issues/11001
  [
    'OpenAI',
    "This model's maximum context length is 4097 tokens, however you requested 4226 tokens (3970 in your prompt; 256 for the completion).",
    4097,
    4226,
    3970,
  ],
  // https://github.com/bytedance/deer-flow/issues/721
  [
    'OpenAI',
    'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens.',
    272000,
    300123,
  ],
  // https://github.com/vllm-project/vllm/issues/20409
  [
    'vLLM',
    "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
    16384,
    19591,
    9591,
  ],
  // https://github.com/vllm-project/vllm/issues/19861
  [
    'vLLM',
    "This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens. Please reduce the length of the input messages.",
    8192,
    9000,
  ],
  // https://github.com/stepfun-ai/Step-Audio-R1/issues/3
  [
    'vLLM',
    "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).",
    4096,
    5100,
    100,
  ],
  // https://github.com/unslothai/unsloth/issues/2666
  [
    'vLLM',
    'The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    4096,
    5000,
  ],
  [
    'vLLM',
    "You passed 8193 input tokens and requested 10 output tokens. However, the model's context length is only 8192 tokens, resulting in a maximum input length of 8182 tokens.",
    8192,
    8193,
  ],
  // https://github.com/QwenLM/Qwen3/issues/1321
  ['SGLang', "The input (61709 tokens) is longer than the model's context length (40960 tokens).", 40960, 61709],
  // https://github.com/anomalyco/opencode/pull/25230
  [
    'SGLang',
    "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens: 4000 tokens from the input messages and 1000 tokens for the completion.",
    4096,
    5000,
    4000,
  ],
  [
    'llama.cpp',
    'request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it',
    4096,
    5000,
  ],
  // https://github.com/ggml-org/llama.cpp/pull/15780
  [
    'llama.cpp',
    'the request exceeds the available context size. try increasing the context size or enable context shift',
    null,
    null,
  ],
  // https://github.com/rllm-team/rllm/issues/55
  ['llama-cpp-python', 'Requested tokens (516) exceed context window of 512', 512, 516],
  // https://github.com/nano-step/nano-brain/issues/208
  ['Ollama', 'the input length exceeds the context length', null, null],
  ['Ollama', 'input length exceeds maximum context length', null, null],
  // https://github.com/OpenHands/OpenHands/issues/9937
  [
    'OpenRouter',
    "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (139000 of text input, 1000 in the output).",
    131072,
    140000,
    139000,
  ],
  // https://github.com/anthropics/claude-code/issues/12186
  ['Anthropic', 'prompt is too long: 200001 tokens > 200000 maximum', 200000, 200001],
  // https://github.com/stackblitz/bolt.new/issues/7422
  [
    'Anthropic',
    'input length and `max_tokens` exceed context limit: 86888 + 119866 > 204648, decrease input length or `max_tokens` and try again',
    204648,
    206754,
    86888,
  ],
  // https://github.com/vllm-project/vllm/issues/42474
  [
    'vLLM',
    "This model's maximum context length is 128000 tokens. However, you requested 65535 output tokens and your prompt contains at least 62466 input tokens, for a total of at least 128001 tokens.",
    128000,
    128001,
    62466,
  ],
  // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546
  [
    'LM Studio',
    'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
    32768,
    111490,
  ],
  // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2256
  [
    'LM Studio',
    'The number of tokens to keep from the initial prompt (9800) is greater than the context length (8192). Try to load the model with a larger context length.',
    8192,
    9800,
  ],
  // From here to the next source: https://github.com/earendil-works/pi, packages/ai/src/utils/overflow.ts
  ['Ollama', 'prompt too long; exceeded max context length by 808 tokens', null, null],
  ['xAI', "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072, 537812],
  [
    'Gemini',
    'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
    1048575,
    1196265,
  ],
  [
    'OpenAI',
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
    null,
    null,
  ],
  ['GitHub Models', 'prompt token count of 93854 exceeds the limit of 90000', 90000, 93854],
  ['MiniMax', 'invalid params, context window exceeds limit (2013)', null, null],
  ['Bedrock', 'Input is too long for requested model.', null, null],
  // https://github.com/huggingface/llm-vscode/issues/94
  [
    'TGI',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` tokens and 60 `max_new_tokens`',
    2048,
    3534,
    3474,
  ],
  // https://github.com/stanford-crfm/helm/pull/2079
  [
    'Together',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2019 `inputs` tokens and 30 `max_new_tokens`',
    2048,
    2049,
    2019,
  ],
  // The table of errors in Moonshot's API reference
  ['Moonshot', 'Your request exceeded model token limit: 8192 (requested: 9000)', 8192, 9000],
  ['Moonshot', 'Invalid request: Your request exceeded model token limit: 131072', null, null],
  ['Moonshot', 'Input token length too long', null, null],
  // https://github.com/zeroclaw-labs/zeroclaw/issues/4124
  ['Zhipu', 'Prompt exceeds max length', null, null],
  // https://github.com/QwenLM/qwen-code/issues/98
  ['Qwen', '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]', null, null],
  // https://github.com/cohere-ai/sandbox-topically/issues/4
  [
    'Cohere',
    'too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.',
    2048,
    6354,
  ],
  // https://docs.cohere.com/reference/errors
  ['Cohere', 'too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs.', null, null],
  // https://portkey.ai/error-library/context-length-exceeded-error-13710000
  ['Mistral', 'Prompt contains 66385 tokens, too large for model with 32768 maximum context length', 32768, 66385],
  // https://github.com/anomalyco/opencode/issues/11141
  ['LM Studio', 'Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)', 7424, 15028],
  // https://github.com/Gitlawb/openclaude/issues/353
  [
    'LM Studio',
    'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
    4096,
    13055,
  ],
  // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1251
  [
    'LM Studio',
    'Reached context length of 4096 tokens with model (arch: qwen3vlmoe) that does not currently support mid-generation context overflow. Try reloading with a larger context length or shortening the prompt/chat.',
    null,
    null,
  ],
  // https://github.com/ggml-org/llama.cpp/issues/19774
  ['llama.cpp', 'Context size has been exceeded.', null, null],
  // https://github.com/mmcdermott/MEDS_EIC_AR/pull/172, of SGLang 0.5.9
  [
    'SGLang',
    'Input length (9000 tokens) exceeds the maximum allowed length (8187 tokens). Use a shorter input or enable --allow-auto-truncate.',
    8187,
    9000,
  ],
  // https://github.com/google-gemini/gemini-cli/issues/19727
  [
    'Vertex',
    'Unable to submit request because the input token count is 1251952 but model only supports up to 1048576. Reduce the input token count and try again.',
    1048576,
    1251952,
  ],
  // https://github.com/arkavo-org/arkavo-edge/issues/371
  ['Gemini', 'The input token count exceeds the maximum number of tokens allowed (1048576).', null, null],
  // 1261 in Chinese, 2026-10; also sent under 1214
  ['Zhipu', '您的输入 Prompt 超长，请压缩后重试', null, null],
  // https://github.com/langgenius/dify/issues/19394
  ['SiliconFlow', 'length of prompt_tokens (57535) must be less than max_seq_len (32768).', 32768, 57535],
  // doubao-seed-2.0 on Ark, 2026-08
  ['Ark', 'Total tokens of image and text exceed max message tokens. Request id: 021', null, null],
  // The TensorRT backend of trtllm-serve
  [
    'TensorRT-LLM',
    'The sum of prompt length (4000) and query length (0) max_tokens (2048) should not exceed max_seq_len (4096)',
    4096,
    6048,
    4000,
  ],
  // https://github.com/triton-inference-server/tensorrtllm_backend/issues/141 and 565
  ['TensorRT-LLM', 'Prompt length (5056) exceeds maximum sequence length (2048)', 2048, 5056],
  ['TensorRT-LLM', 'Prompt length (200) exceeds maximum input length (128)', 128, 200],
  // https://cloud.baidu.com/doc/qianfan-api/s/rmwbl43x7
  ['Baidu', 'Prompt tokens too long', null, null],
  // Reported without a source
  ['a gateway', 'The maximum context length is 1,131,072 tokens. It resulted in 1,140,000 tokens.', 1131072, 1140000],
  ['Perplexity', 'Total number of tokens in the prompt exceeds limit.', null, null],
  ['Vertex', 'The input token count is 1200000 but the model supports only up to 1048576.', 1048576, 1200000],
  ['LMDeploy', 'internal error happened, status code ResponseType.INPUT_LENGTH_ERROR', null, null],
  ['TensorRT-LLM', 'Prompt length (9000) + max_tokens (1000) exceeds max_seq_len (8192)', 8192, 10000, 9000],
  ['MLX', "Prompt has 9000 tokens, which exceeds the model's maximum of 8192.", 8192, 9000],
]

for (const [server, message, limit, asked, input] of MESSAGES) {
  test(`reads the error of ${server}: ${message.slice(0, 60)}`, () => {
    const found = readContextLength({ code: '', message })
    assert.deepEqual(found, { tokens: limit === null ? undefined : { limit, asked, ...(input && { input }) } })
  })
}

test('reads the code alone, and the numbers llama.cpp gives beside its message', () => {
  // 1261: Zhipu, https://docs.z.ai/api-reference/api-code. 10907: Spark. tokens_limit_reached: https://github.com/cline/cline/issues/2115
  for (const code of [
    'context_length_exceeded',
    'context_exceeded',
    '1261',
    '10907',
    'OutofContextError',
    'tokens_limit_reached',
  ])
    assert.deepEqual(readContextLength({ code, message: '' }), { tokens: undefined })
  const counts = { n_prompt_tokens: 14429, n_ctx: 8192 }
  const found = readContextLength({ code: 'exceed_context_size_error', message: '', ...counts })
  assert.deepEqual(found, { tokens: { limit: 8192, asked: 14429 } })
})

test('reads a text in Chinese', () => {
  for (const message of ['输入超出模型的最大上下文长度', '输入内容超过了最大长度限制', 'Token数量超过上限'])
    assert.deepEqual(readContextLength({ code: '', message }), { tokens: undefined })
})

test('does not mistake other errors for a context length error', () => {
  const others = [
    'Invalid value for temperature: 3',
    'Please include more context in your request',
    "The model 'gpt' does not exist.",
    'messages: text content blocks must be non-empty',
    'max_tokens must be at least 1',
    'max_tokens is too large: 100000. This model supports at most 16384 completion tokens.',
    '超出速率限制',
    'Rate limit reached: too many tokens per minute',
    'too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192.',
    'Invalid value for max_completion_tokens',
    "Invalid image: the image's input size is too large",
    "Invalid 'user': string too long. Expected a string with maximum length 64, but got a string with length 80 instead.",
    "Invalid 'messages[0].name': string too long. Expected a string with maximum length 64.",
    'Request too large for model `x` on input tokens per minute (ITPM): Limit 6000, Requested 9000',
    'Function calling is not enabled in this context; the limit of tools is exceeded',
    'The prompt has an image whose size exceeds the maximum of 20 MB',
    'The prompt length must be greater than 0',
    'Stop sequence length exceeds the maximum of 16',
    'The request exceeds the input limit of 20 images',
    'Received message larger than the maximum message size',
  ]
  for (const message of others) assert.equal(readContextLength({ code: '400', message }), null, message)
})
