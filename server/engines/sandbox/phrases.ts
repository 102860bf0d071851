/** What the sandbox says in one language. Each of the first four pools holds eight, so that variants never coincide. */
export type Phrases = {
  openings: readonly string[]
  quotings: ReadonlyArray<(quote: string) => string>
  bodies: readonly string[]
  closings: readonly string[]
  thoughts: readonly string[]
  refusals: readonly string[]
  /** Between two sentences. */
  space: string
  asked(quote: string): string
  received(media: string): string
  turn(turns: number): string
  instructions(words: number): string
  result(name: string, text: string): string
}

export const ENGLISH: Phrases = {
  openings: [
    'Hello from the sandbox!',
    'Hi, this is the sandbox model.',
    'Greetings from the sandbox.',
    'The sandbox is happy to answer.',
    'This is a test answer from the sandbox.',
    'Good to hear from you; the sandbox is listening.',
    'Your request has reached the sandbox.',
    'Welcome to the sandbox.',
  ],
  quotings: [
    (quote) => `You wrote: “${quote}”`,
    (quote) => `Your message was: “${quote}”`,
    (quote) => `I read: “${quote}”`,
    (quote) => `You asked me: “${quote}”`,
    (quote) => `What arrived here is: “${quote}”`,
    (quote) => `The last thing you said was: “${quote}”`,
    (quote) => `Here is your message back: “${quote}”`,
    (quote) => `I have in front of me: “${quote}”`,
  ],
  bodies: [
    'No real model has thought about it, but everything around the answer is genuine.',
    'I do not know the answer, yet your client handled the question well.',
    'These words are put together from your request, so the same request always gets them again.',
    'A language model would now say something clever; I only show that the way there works.',
    'My tokens are counted with a real tokenizer, so limits and usage behave as they should.',
    'Nothing here is intelligent, and nothing here is left to chance.',
    'Change the seed and I will say it in other words.',
    'I understand streaming, tools, schemas and stop sequences much better than I understand you.',
  ],
  closings: [
    'Happy building!',
    'Try me with tools, with a schema or with pictures next.',
    'Switch to a real model whenever you are ready.',
    'Ask for more choices and each will be worded differently.',
    'Set a token limit to see how a shortened answer looks.',
    'That is all from the sandbox for now.',
    'I am looking forward to your next test.',
    'Good luck with what you are building!',
  ],
  thoughts: [
    'First I look at what was actually asked.',
    'Then I check which parts came with the message.',
    'Nothing suggests that a tool would help beyond what was offered.',
    'A short and friendly answer seems best.',
    'I should quote the message, so that it is clear that it arrived.',
    'I must stay within the limit of tokens.',
    'Let me make sure that the wording depends on the request alone.',
    'That settles it; now I can write the answer.',
  ],
  refusals: [
    'I am sorry, but I cannot help with that. You asked the sandbox to refuse.',
    'The sandbox declines, as you asked it to.',
    'Sorry, this is one of the requests the sandbox refuses on purpose.',
  ],
  space: ' ',
  asked: (quote) => (quote === '' ? 'The message holds no text.' : `The person says: “${quote}”`),
  received: (media) => `I received ${media}.`,
  turn: (turns) => `This is turn ${turns} of our conversation.`,
  instructions: (words) => `Your instructions of ${words} ${words === 1 ? 'word' : 'words'} arrived too.`,
  result: (name, text) => (text === '' ? `The tool ${name} returned nothing.` : `The tool ${name} returned: ${text}`),
}

export const JAPANESE: Phrases = {
  openings: [
    'こんにちは、サンドボックスです。',
    'サンドボックスからお答えします。',
    'これはサンドボックスのテスト用の回答です。',
    'メッセージはサンドボックスに届きました。',
    'サンドボックスへようこそ。',
    'ご連絡ありがとうございます。サンドボックスです。',
    'テスト用モデルのサンドボックスがお返事します。',
    'はい、サンドボックスが承りました。',
  ],
  quotings: [
    (quote) => `「${quote}」とのことですね。`,
    (quote) => `いただいたメッセージは「${quote}」です。`,
    (quote) => `「${quote}」と書かれていました。`,
    (quote) => `ご質問は「${quote}」でした。`,
    (quote) => `こちらに届いたのは「${quote}」です。`,
    (quote) => `最後のご発言は「${quote}」でした。`,
    (quote) => `メッセージをそのままお返しします。「${quote}」`,
    (quote) => `手元には「${quote}」とあります。`,
  ],
  bodies: [
    '本物のモデルは考えていませんが、回答が届くまでの仕組みはすべて本物です。',
    '答えは分かりませんが、お使いのクライアントは正しく動いています。',
    'この文章はリクエストから組み立てているので、同じリクエストには同じ文章をお返しします。',
    '本物のモデルなら気の利いたことを言うところですが、私は道筋が通じることだけをお見せします。',
    'トークンは本物のトークナイザーで数えているので、上限や使用量は実際どおりに働きます。',
    'ここには知性はありませんが、偶然もありません。',
    'シードを変えると、別の言い方でお答えします。',
    'ストリーミングやツール、スキーマ、停止シーケンスには対応しています。',
  ],
  closings: [
    '開発を楽しんでください。',
    '次はツールやスキーマ、画像でも試してみてください。',
    '準備ができたら、本物のモデルに切り替えてください。',
    '選択肢を増やすと、それぞれ違う言い方になります。',
    'トークンの上限を設定すると、途中で切れた回答を確認できます。',
    'サンドボックスからは以上です。',
    '次のテストもお待ちしています。',
    '開発がうまくいきますように。',
  ],
  thoughts: [
    'まず、何を尋ねられているのかを確認する。',
    '次に、メッセージに何が添えられているかを見る。',
    '用意されたもの以外にツールは必要なさそうだ。',
    '短く親しみやすい回答がよいだろう。',
    '届いたことが分かるように、メッセージを引用しよう。',
    'トークンの上限を守らなければならない。',
    '言い回しがリクエストだけで決まることを確かめよう。',
    'これで決まった。回答を書こう。',
  ],
  refusals: [
    '申し訳ありませんが、お手伝いできません。サンドボックスに断るよう指示がありました。',
    'ご指示のとおり、サンドボックスはお断りします。',
    '申し訳ありません。これはサンドボックスがわざと断るリクエストです。',
  ],
  space: '',
  asked: (quote) => (quote === '' ? 'メッセージに文章がない。' : `「${quote}」と言われている。`),
  received: (media) => `${media}を受け取りました。`,
  turn: (turns) => `会話の${turns}回目です。`,
  instructions: (words) => `指示（${words}語）も届いています。`,
  result: (name, text) =>
    text === '' ? `ツール ${name} の結果は空でした。` : `ツール ${name} の結果は次のとおりです：${text}。`,
}
