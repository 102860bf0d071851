import { KeyRound } from 'lucide-react'
import { useText } from '../text/use-text.ts'
import { ButtonLink, Link } from '../ui/button.tsx'
import { CodeBlock } from '../ui/data/code.tsx'
import { Guide, type GuideProps, Program, Step, Steps } from './guide.tsx'

/** The key, the address, the packages. */
export function Start({ target }: GuideProps) {
  const t = useText('guides')
  return (
    <Guide id="start" title={t('start.title')}>
      <Steps>
        <Step>
          <p>{t('start.key')}</p>
          <ButtonLink to="/keys" icon={<KeyRound />} className="self-start">
            {t('create_key')}
          </ButtonLink>
        </Step>
        <Step>
          <p>{t('start.export')}</p>
          <CodeBlock code="export KINORA_API_KEY=kin_…" label={t('start.export_label')} />
        </Step>
        <Step>
          <p>{t('start.base')}</p>
          <CodeBlock code={`${target.base_url}/v1`} label={t('start.base_label')} />
        </Step>
        <Step>
          <p>{t('start.package')}</p>
          <CodeBlock code={PACKAGES} label={t('start.package_label')} />
        </Step>
      </Steps>
    </Guide>
  )
}

const PACKAGES = 'npm install openai\npip install openai'

export function Chat(props: GuideProps) {
  const t = useText('guides')
  return (
    <Guide id="chat" title={t('chat.title')} about={t('chat.about')}>
      <Program topic="chat" {...props} />
      <p className="text-sm text-muted">
        {t('chat.next')} <Link to="/chat">{t('chat.playground')}</Link>
      </p>
    </Guide>
  )
}

export function Stream(props: GuideProps) {
  const t = useText('guides')
  return (
    <Guide id="stream" title={t('stream.title')} about={t('stream.about')}>
      <Program topic="stream" {...props} />
    </Guide>
  )
}

export function Response(props: GuideProps) {
  const t = useText('guides')
  return (
    <Guide id="response" title={t('response.title')} about={t('response.about')}>
      <Program topic="response" {...props} />
    </Guide>
  )
}

export function Files(props: GuideProps) {
  const t = useText('guides')
  return (
    <Guide id="files" title={t('files.title')} about={t('files.about')}>
      <p className="text-sm">{t('files.photo', { name: 'photo.png' })}</p>
      <Program topic="files" {...props} />
    </Guide>
  )
}

export function Video(props: GuideProps) {
  const t = useText('guides')
  return (
    <Guide id="video" title={t('video.title')} about={t('video.about')}>
      <Steps>
        <Step>
          <p>
            {t('video.agree')} <Link to="/videos">{t('video.agree_link')}</Link>
          </p>
        </Step>
        <Step>
          <p>{t('video.submit')}</p>
          <Program topic="video" {...props} />
          <p className="text-muted">{t('video.dialogue', { open: '<d>', close: '</d>' })}</p>
        </Step>
      </Steps>
    </Guide>
  )
}
