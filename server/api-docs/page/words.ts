import type { PageLanguage } from '../../platform/http/page.ts'
import { JAPANESE } from './japanese.ts'

/** The words of the page itself. Values are HTML; functions take text that is escaped already. */
type Words = {
  title: string
  contents: string
  objects: string
  body: string
  answer: string
  errors: string
  parameters: string
  optional: string
  no_credential: string
  api_key: string
  console_login: string
  or: string
  list_of: (what: string) => string
  anything: string
  text: string
  introduction: string
  tags: Readonly<Record<string, string>>
  places: Readonly<Record<string, string>>
  default: (value: string) => string
  range: {
    between: (min: unknown, max: unknown, unit: string) => string
    from: (min: unknown, unit: string) => string
    to: (max: unknown, unit: string) => string
  }
  units: Readonly<Record<'characters' | 'elements', string>>
}

export const WORDS: Record<PageLanguage, Words> = {
  en: {
    title: 'Kinora API',
    contents: 'Contents',
    objects: 'Objects',
    body: 'Body',
    answer: 'Answer',
    errors: 'Errors:',
    parameters: 'Parameters',
    optional: 'optional',
    no_credential: 'no credential',
    api_key: 'API key',
    console_login: 'console',
    or: ' or ',
    list_of: (what) => `list of ${what}`,
    anything: 'anything',
    text: 'text',
    introduction: `<p>Send your API key with every request: <code>Authorization: Bearer kin_…</code>. Keys are made in the console; calls marked
<b>console</b> take its login instead. The commands below take the address of this service, without <code>/v1</code>, from <code>KINORA_BASE_URL</code>,
and the key from <code>KINORA_API_KEY</code>. The official OpenAI clients work with this service as <code>base_url</code>, ending in <code>/v1</code>; videos take
<code>aspect_ratio</code> in place of <code>size</code>.</p>
<p>An error is always <code>{"error":{"message","type","param","code"}}</code>, and every answer has an <code>x-request-id</code>.
Lists take <code>limit</code>, <code>after</code> and <code>order</code>, and answer <code>{"object":"list","data","first_id","last_id","has_more"}</code>.
Times are Unix seconds, amounts are decimal strings.</p>`,
    tags: {},
    places: {},
    default: (value) => `Default ${value}.`,
    range: {
      between: (min, max, unit) => `${min} to ${max}${unit}`,
      from: (min, unit) => `At least ${min}${unit}`,
      to: (max, unit) => `At most ${max}${unit}`,
    },
    units: { characters: ' characters', elements: ' elements' },
  },
  ja: {
    title: 'Kinora API',
    contents: '目次',
    objects: 'オブジェクト',
    body: '本文',
    answer: '応答',
    errors: 'エラー:',
    parameters: 'パラメーター',
    optional: '省略可',
    no_credential: '認証不要',
    api_key: 'API キー',
    console_login: 'コンソール',
    or: ' または ',
    list_of: (what) => `${what} の配列`,
    anything: '任意の値',
    text: '文字列',
    introduction: `<p>すべてのリクエストに API キーを付けます: <code>Authorization: Bearer kin_…</code>。キーはコンソールで作成します。
<b>コンソール</b>と書かれた呼び出しには、コンソールへのサインインを使います。以下のコマンドは、このサービスのアドレス（<code>/v1</code> を除く）を <code>KINORA_BASE_URL</code> から、キーを <code>KINORA_API_KEY</code> から読み取ります。
公式の OpenAI クライアントは、このサービスを <code>base_url</code>（末尾は <code>/v1</code>）に指定すれば使えます。動画では <code>size</code> の代わりに <code>aspect_ratio</code> を指定します。</p>
<p>エラーは常に <code>{"error":{"message","type","param","code"}}</code> の形で、すべての応答に <code>x-request-id</code> が付きます。
一覧は <code>limit</code>、<code>after</code>、<code>order</code> を受け付け、<code>{"object":"list","data","first_id","last_id","has_more"}</code> を返します。
時刻は Unix 秒、金額は 10 進数の文字列です。</p>`,
    tags: {
      videos: '動画',
      files: 'ファイル',
      chat: 'チャット',
      responses: 'レスポンス',
      models: 'モデル',
      webhook_endpoints: 'Webhook',
      webhook_event_types: 'Webhook のイベント',
      console: 'コンソール',
      service: 'サービス',
    },
    places: { path: 'パス', query: 'クエリ', header: 'ヘッダー' },
    default: (value) => `既定値は ${value}。`,
    range: {
      between: (min, max, unit) => `${min}〜${max}${unit}`,
      from: (min, unit) => (unit === '' ? `${min} 以上` : `${min}${unit}以上`),
      to: (max, unit) => (unit === '' ? `${max} 以下` : `${max}${unit}以下`),
    },
    units: { characters: ' 文字', elements: ' 個' },
  },
}

/** A text of a schema or a route in the language of the page; in English where nobody has translated it. */
export function translateText(language: PageLanguage, text: string): string {
  return language === 'ja' ? (JAPANESE[text] ?? text) : text
}
