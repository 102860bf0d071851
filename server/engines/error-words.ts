/**
 * What a code or a text of an engine means.
 * - `moderation`: its content filter refused the input or the output.
 * - `busy`: no capacity now, and nothing was begun.
 * - `transient`: the engine failed; the same request may succeed later.
 * - `permanent`: the operator has to act: credential, balance, name of the model.
 * - `media`: it cannot use a reference.
 * - `gone`: it knows no such render.
 * - `rejected`: it refuses the request as it is.
 */
export type Meaning = 'moderation' | 'busy' | 'transient' | 'permanent' | 'media' | 'gone' | 'rejected'

/** A word without case and punctuation: engines write one name in many ways. */
export function plainWord(word: string): string {
  return word.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** Null for a code that is not known everywhere. */
export function meaningOfCode(code: string): Meaning | null {
  const word = plainWord(code)
  if (MODERATION_CODES.has(word) || MODERATION_CODE.test(word)) return 'moderation'
  if (BUSY_CODE.test(word)) return 'busy'
  if (TRANSIENT_CODES.has(word)) return 'transient'
  if (PERMANENT_CODE.test(word)) return 'permanent'
  if (MEDIA_CODES.has(word)) return 'media'
  return GONE_CODE.test(word) ? 'gone' : null
}

/** Null for a text that says nothing known. A text is read for this alone and never kept: engines repeat prompts in them. */
export function meaningOfText(text: string): Meaning | null {
  const found = TEXTS.find(([pattern]) => pattern.test(text))?.[1]
  // A text may be a code alone.
  return found ?? (/^[\w.-]+$/.test(text) ? meaningOfCode(text) : null)
}

/**
 * The names under which engines report their own content filter. The words are those of OpenAI and Azure videos, MiniMax (1026 input, 1027
 * output), Ark, Replicate and gateways in front of them.
 */
const MODERATION_CODES = new Set(
  [
    ...['1026', '1027', 'moderation', 'moderation_blocked', 'moderation_error', 'moderation_failed'],
    ...['input_moderation', 'output_moderation', 'content_filter', 'content_filtered', 'content_moderation'],
    ...['content_moderated', 'request_moderated', 'content_policy', 'content_policy_violation', 'content_violation'],
    ...['policy_violation', 'usage_policy_violation', 'responsible_ai_policy_violation', 'data_inspection_failed'],
    ...['safety', 'safety_violation', 'safety_blocked', 'unsafe_content', 'prohibited_content', 'restricted_content'],
    ...['nsfw', 'nsfw_content', 'nsfw_content_detected', 'sensitive', 'sentinel_blocked', 'flagged', 'blocked'],
    ...['censorship_blocked', 'InputTextSensitiveContentDetected'],
    'InputImageSensitiveContentDetected',
    'InputVideoSensitiveContentDetected',
    'OutputVideoSensitiveContentDetected',
    'OutputAudioSensitiveContentDetected',
  ].map(plainWord),
)

/** Such as Runway's `SAFETY.INPUT.TEXT`, Vidu's `CreationPolicyViolation` and `AuditSubmitIllegal`, DashScope's `IPInfringementSuspect`. */
const MODERATION_CODE =
  /sensitive(content|word|information)|content(policy|filter|risk)|policyviolation|infringement|riskcontrol|nsfw|^safety|^audit(submit|fail|reject)/

const BUSY_CODE =
  /^(ratelimit|requestburst|quotaexceed|resourceexhausted|toomany|queue(is)?full|highload|highdemand|unavailable$|insufficientsystemresource)|overload|busy|concurren|capacity|serviceunavailable|throttl/

/** Of failed renders that may go better when tried again; any other failure would most likely repeat itself at full price. */
const TRANSIENT_CODES = new Set(
  [
    ...['server_error', 'internal', 'internal_error', 'internal_server_error', 'system_error', 'upstream_error'],
    ...['bad_gateway', 'gateway_timeout', 'timeout', 'timed_out', 'request_timeout', 'deadline_exceeded', 'expired'],
    ...['cancelled', 'canceled', 'aborted', 'interrupted', 'runner_disconnected', 'runner_connection_error'],
    ...['internal_service_error', 'internal_service_failure'],
  ].map(plainWord),
)

const PERMANENT_CODE =
  /^(invalidapikey|invalidtoken|auth|unauth|permissiondenied|accessdenied|forbidden|insufficient|exceededcurrentquota|budgetexceeded|organizationrestricted|blockedapiaccess|accountoverdue|arrear|billing|paymentrequired|(credit|balance)s?(insufficient|notenough)|(model|deployment)(not|decommission|deprecat|retired)|nosuchmodel|unknownmodel|invalidmodel(name|id)?$|invalidendpoint)/

const MEDIA_CODES = new Set(
  [
    ...['invalid_image', 'invalid_image_format', 'invalid_image_url', 'image_parse_error', 'image_too_large'],
    ...['image_too_small', 'unsupported_image_media_type', 'invalid_video', 'invalid_audio', 'invalid_media'],
    ...['invalid_reference', 'invalid_reference_media', 'invalid_input_reference', 'reference_download_failed'],
    ...['image_download_failure', 'image_format_invalid'],
  ].map(plainWord),
)

const WORK = '(task|job|video|render|generation|prediction|operation)'
const GONE_CODE = new RegExp(
  `^(${WORK}|request|record|resource|data)?(id)?(not(found|exists?|existed)|does(not|nt)exist)(error)?$|^(invalid|unknown|nosuch)${WORK}(id)?$`,
)

const MODERATION =
  /\b(nsfw|moderat\w*|safety|(?<!case[ -])sensitive|flagged|prohibited|inappropriate|unsafe|guardrails?|content[ _-]?(polic|filter|guideline|violation|review|security|exists risk)\w*|risk[ _-]?control|polic\w+ violat\w+|violat\w+ .{0,60}(polic|guideline|terms)\w*|usage (polic|guideline)\w*|responsible ai|rai_?media\w*|copyright \w*(restrict|infring|violat|polic)\w*|infring\w+|contain\w* (an? )?real (person|people)|sexual(ly)? (explicit|content))|\b(sensitive|unsafe)_|敏感|违规|審核|审核|风控|侵权|版权/i

const BUSY =
  /\brate[ -]?limit|too many requests|over ?loaded|at capacity|\bbusy\b|throttl|queue is full|concurren\w+ (limit|quota|request)|request limit|繁忙|限流/i

/** The credential, the account and its balance, and how the server was started or is addressed. */
const PERMANENT = new RegExp(
  [
    '\\b(invalid|incorrect|missing|wrong) (or invalid )?(api[ _-]?key|credential|token|authorization)',
    '\\bapi[ _-]?key (is |has )?(not valid|invalid|expired)|user location is not supported|organization must be verified',
    'insufficient (balance|quota|credit|fund)|out of credit|not enough credit|\\b(credit|account) balance is too low',
    'used all available credits|budget has been exceeded|\\bover budget|\\bquota (is )?used up|spend(ing)? limit|余额不足|额度不足|欠费',
    '\\b(account|organization)( \\S{1,64})? (is|has been) (suspended|restricted|not active|deactivated|disabled)',
    '\\brequires? --[a-z]|chat template is no longer allowed|api version not supported',
  ].join('|'),
  'i',
)

const BROKEN =
  '(invalid|unsupported|corrupt\\w*|too (large|small|big|long|short)|could not be (loaded|read|decoded|downloaded)|cannot be (loaded|read|decoded|downloaded)|failed to (load|read|decode|download|fetch))'
const FILE = '\\b((reference|input) video|image|audio|frame|media|file)s?\\b'
const MEDIA = new RegExp(`${FILE}.{0,60}${BROKEN}|${BROKEN}.{0,60}${FILE}`, 'i')

const NO_SUCH = "(not (be )?found|not exist\\w*|does ?n[o'’]t exist|no longer exists?|is unknown)"
const GONE = new RegExp(
  `\\b${WORK}([ _-]?id)?\\b.{0,60}\\b${NO_SUCH}|\\b(no such|unknown|invalid|could not find|cannot find) ${WORK}[ _-]?(id)?\\b(?! (type|param|format|input|size|url))|任务不存在`,
  'i',
)

/** The same request would need as much again. */
const NO_MEMORY = /out of memory|\bOOM\b|OutOfMemory/i

const TRANSIENT =
  /time[d ]?-? ?out|temporar|unavailable|try again(?! (with|using))|interrupted|internal (server )?error|cancell?ed|aborted|expired/i

const TEXTS: ReadonlyArray<readonly [pattern: RegExp, meaning: Meaning]> = [
  [MODERATION, 'moderation'],
  [BUSY, 'busy'],
  [PERMANENT, 'permanent'],
  [GONE, 'gone'],
  [MEDIA, 'media'],
  [NO_MEMORY, 'rejected'],
  [TRANSIENT, 'transient'],
]
