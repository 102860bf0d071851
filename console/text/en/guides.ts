export default {
  title: 'Docs',
  about: 'From your first request to a finished video. The programs are ready to run against this service.',
  create_key: 'Create API key',
  reference: 'API reference',
  contents: 'On this page',
  language: 'Programming language',
  client: 'Client',
  program: '{{topic}}, {{language}}',

  start: {
    title: 'Get started',
    key: 'Create an API key. It is shown only once, so keep it somewhere safe.',
    export: 'Set it as an environment variable for your programs.',
    export_label: 'Environment',
    base: 'OpenAI API clients work unchanged. All they need is this base URL:',
    base_label: 'Base URL',
    package: 'For Node and Python, install the official client.',
    package_label: 'Packages',
  },
  chat: {
    title: 'Chat',
    short: 'Chat',
    about:
      'Send a conversation and get the next message. Nothing is stored: each request contains the entire conversation.',
    next: 'Try it without code, then copy it as a program:',
    playground: 'open the chat page',
  },
  stream: {
    title: 'Streaming',
    short: 'Streaming',
    about:
      'With “stream”, the answer arrives as it is written. Closing the connection stops the model, and you pay only for what arrived.',
  },
  response: {
    title: 'Responses',
    short: 'Responses',
    about:
      'Responses are stored for 30 days, visible only to you, and the next request can continue from one by its ID. They also run in the background and over WebSocket.',
  },
  files: {
    title: 'Files',
    short: 'Files',
    about:
      'Upload an image, video, audio file or document once and use its ID wherever a file is accepted. Files belong to your organization and are deleted after 30 days.',
    photo: 'The program expects an image named {{name}} in the same folder.',
  },
  video: {
    title: 'Videos',
    short: 'Videos',
    about:
      'A video is a job: submit it, poll its status and download the MP4. The price is fixed when you submit it and charged once, on completion.',
    agree: 'Accept the video terms. This is done by a person, in the console:',
    agree_link: 'open the videos page',
    submit: 'Submit the job, wait until it completes and download the video. Polling every 10 to 30 seconds is enough.',
    dialogue: 'Text between {{open}} and {{close}} is spoken in the video.',
  },
  clients: {
    title: 'More clients',
    short: 'More clients',
    about: 'Any client with a configurable base URL works. These are tested with every version of this service.',
    openai: 'Programs without settings of their own only need two environment variables.',
    'ai-sdk': 'Works with “chat” as shown, or with “responses” instead.',
    langchain: 'With “useResponsesApi: true” it uses responses instead of chat completions.',
    agents: 'Uses responses. Tracing would go to OpenAI, so it is turned off.',
    codex: 'The model must support tools. With WebSocket, Codex keeps one connection open and sends only what is new.',
  },
}
