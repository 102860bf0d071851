export default {
  title: 'Docs',
  about: 'From the first request to a finished clip. The programs are ready to run against this service.',
  make_key: 'Make an API key',
  reference: 'API reference',
  contents: 'On this page',
  language: 'Language of the programs',
  client: 'Client',
  program: '{{topic}}, {{language}}',

  start: {
    title: 'Before you begin',
    key: 'Make an API key. It is shown once, so keep it somewhere safe.',
    export: 'Put it where programs find it: into the environment.',
    export_label: 'Environment',
    base: 'Clients of the OpenAI API work as they are. All they need is this base URL:',
    base_label: 'Base URL',
    package: 'For Node and Python, install the official client.',
    package_label: 'Packages',
  },
  chat: {
    title: 'A chat answer',
    short: 'Chat',
    about: 'Send a conversation, get the next message. Nothing of it is stored: each request holds all that was said.',
    next: 'Try it without a program, and take the program from there:',
    playground: 'open the chat page',
  },
  stream: {
    title: 'A streamed answer',
    short: 'Stream',
    about:
      'With “stream” the answer comes as it is written. Ending the connection stops the model; you pay for what came until then.',
  },
  response: {
    title: 'A response',
    short: 'Responses',
    about:
      'Responses are stored for 30 days, for you alone, so that the next request can go on from one by its id. They also run in the background and over WebSocket.',
  },
  files: {
    title: 'Files',
    short: 'Files',
    about:
      'Upload a picture, clip, sound or document once and use its id wherever one is taken. Files belong to your organization and are gone after 30 days.',
    photo: 'The program expects a picture named {{name}} beside it.',
  },
  video: {
    title: 'A video',
    short: 'Video',
    about:
      'A video is a job: submit it, ask for its status now and then, download the MP4. It is priced when you submit it and charged once, on completion.',
    agree: 'Agree to the video terms. It is a person who agrees, so this is done in the console:',
    agree_link: 'open the videos page',
    submit: 'Submit the job, wait for it, download the clip. Asking every 10 to 30 seconds is enough.',
    dialogue: 'Text between {{open}} and {{close}} is spoken in the clip.',
  },
  clients: {
    title: 'More clients',
    short: 'More clients',
    about: 'Whatever lets you set a base URL works. These are tested with every version of this service.',
    openai: 'Programs that set nothing themselves are pointed here by two variables.',
    'ai-sdk': 'Works with “chat” as shown, and with “responses” in its place.',
    langchain: 'With “useResponsesApi: true” it uses responses in place of chat completions.',
    agents: 'Uses responses. Tracing would go to OpenAI, so it is turned off.',
    codex: 'The model has to take tools. With WebSocket, Codex keeps one connection and sends only what is new.',
  },
}
