import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { loadConfig } from '../../../../server/config/load.ts'
import { buildEngines, engineMistakes } from '../../../../server/engines/registry.ts'
import { clipSize, frameCount } from '../../../../server/engines/video/comfyui/clip-size.ts'
import { fillWorkflow, pruneWorkflow } from '../../../../server/engines/video/comfyui/placeholders.ts'
import { readWorkflow } from '../../../../server/engines/video/comfyui/workflow.ts'
import { outputSize } from '../../../../server/media/aspect.ts'
import { ROOT } from '../../../support/sources.ts'
import { workflowOf } from './workflows.ts'

const dir = mkdtempSync(join(tmpdir(), 'kinora-comfyui-'))
after(() => rmSync(dir, { recursive: true, force: true }))
const entry = { kind: 'comfyui', base_url: 'http://gpu:8188' }
const mistakes = (workflows: object, more: object = {}) =>
  engineMistakes('video', { ...entry, workflows, ...more }, undefined, { config_dir: dir }).map(
    ({ path, message }) => `${path}: ${message}`,
  )

test('a workflow is read from a file relative to kinora.yaml, and a mistake in it is reported with its line', () => {
  mkdirSync(join(dir, 'workflows'))
  writeFileSync(join(dir, 'workflows', 'text.json'), JSON.stringify(workflowOf()))
  const path = join(dir, 'kinora.yaml')
  const write = (file: string) =>
    writeFileSync(
      path,
      `video_models:
  - id: local
    per_second: "0.01"
    engine:
      kind: comfyui
      base_url: http://gpu:8188
      workflows:
        text: ${file}
`,
    )
  write('workflows/text.json')
  const config = loadConfig({ config: path, data_dir: dir }, {}, engineMistakes)
  assert.equal(config.config_dir, dir)
  const { video_models, moderation, translation } = config
  const engines = buildEngines(
    { video_models, chat_models: [], moderation, translation },
    { work_dir: dir, config_dir: dir },
  )
  assert.deepEqual([...engines.video.get('local')!.members[0]!.engine.capabilities('local').modes], ['text'])
  write('workflows/other.json')
  assert.throws(
    () => loadConfig({ config: path, data_dir: dir }, {}, engineMistakes),
    (error: Error) =>
      error.message.includes(`kinora.yaml:8 video_models[0].engine.workflows.text`) &&
      error.message.includes(`The file ${join(dir, 'workflows', 'other.json')} cannot be read (ENOENT).`),
  )
})

test('what is not a workflow in the API format is a mistake that says how to get one', () => {
  writeFileSync(join(dir, 'broken.json'), '{ "1": ')
  writeFileSync(join(dir, 'editor.json'), JSON.stringify({ last_node_id: 3, nodes: [], links: [] }))
  assert.deepEqual(mistakes({ text: 'broken.json' }), [
    `workflows.text: The file ${join(dir, 'broken.json')} is not valid JSON.`,
  ])
  const [editor] = mistakes({ text: join(dir, 'editor.json') })
  assert.match(editor!, /^workflows\.text: Is in the format of ComfyUI's editor: .*Export \(API\)/)
  for (const other of [{ prompt: workflowOf() }, {}, { 1: { class_type: 'A' } }])
    assert.match(mistakes({ text: other })[0]!, /^workflows\.text: Is not in ComfyUI's API format/)
  assert.deepEqual(mistakes({ text: 7 }), [
    'workflows.text: Must be the path of a workflow in the API format, or the workflow itself.',
  ])
  assert.deepEqual(mistakes({}), ['workflows: Needs a workflow for at least one mode.'])
  assert.match(mistakes({ image: workflowOf() })[0]!, /^workflows\.image: Is not an option/)
  const dangling = { ...workflowOf(), save: { class_type: 'SaveVideo', inputs: { video: ['9', 0] } } }
  assert.deepEqual(mistakes({ text: dangling }), [
    'workflows.text: Node save has a link to a node that does not exist.',
  ])
})

test('unknown, missing and skipped placeholders are mistakes of their mode', () => {
  const text = workflowOf()
  assert.deepEqual(mistakes({ text, first_frame: workflowOf('first_frame', 'last_frame') }), [])
  const odd = { ...text, more: { class_type: 'A', inputs: { a: 'x {{promt}}', b: { c: ['{{ seed }}'] } } } }
  assert.deepEqual(mistakes({ text: odd }), [
    'workflows.text: {{promt}} is not a placeholder of Kinora.',
    'workflows.text: {{ seed }} is not a placeholder of Kinora.',
  ])
  assert.deepEqual(mistakes({ first_frame: text, both_frames: workflowOf('first_frame') }), [
    'workflows.first_frame: The mode first_frame needs the placeholder {{first_frame}}.',
    'workflows.both_frames: The mode both_frames needs the placeholder {{last_frame}}.',
  ])
  assert.deepEqual(mistakes({ text: { 1: { class_type: 'A', inputs: {} } } }), [
    'workflows.text: The mode text needs the placeholder {{prompt}}.',
  ])
  assert.deepEqual(mistakes({ references: workflowOf('ref_audio_1') }), [
    'workflows.references: The mode references needs the placeholder {{ref_image_1}} or {{ref_video_1}}.',
  ])
  assert.deepEqual(mistakes({ references: workflowOf('ref_image_1', 'ref_image_3') }), [
    'workflows.references: {{ref_image_3}} needs {{ref_image_2}} too.',
  ])
  assert.deepEqual(mistakes({ text }, { output_node: 'save' }), [])
  assert.deepEqual(mistakes({ text }, { output_node: '9' }), ['workflows.text: Has no node 9 (output_node).'])
  assert.deepEqual(mistakes({ text }, { seconds: [9, 4] }), ['seconds: The first number must not be above the second.'])
})

test('what an absent file feeds is left out: its loader, what only prepares it, and the links to them', () => {
  const workflow = {
    load: { class_type: 'LoadVideo', inputs: { file: '{{ref_video_1}}' } },
    parts: { class_type: 'GetVideoComponents', inputs: { video: ['load', 0] } },
    scale: { class_type: 'ImageScale', inputs: { image: ['parts', 0], width: 64 } },
    vae: { class_type: 'VAELoader', inputs: { vae_name: 'a' } },
    picture: { class_type: 'LoadImage', inputs: { image: '{{ref_image_1}}' } },
    render: {
      class_type: 'Reference',
      inputs: { vae: ['vae', 0], video: ['scale', 0], sound: ['parts', 1], image: ['picture', 0], size: [64, 64] },
    },
    save: { class_type: 'SaveVideo', inputs: { video: ['render', 0] } },
  }
  const left = pruneWorkflow(workflow, (name) => name === 'ref_image_1')
  assert.deepEqual(Object.keys(left), ['vae', 'picture', 'render', 'save'])
  assert.deepEqual(left.render!.inputs, { vae: ['vae', 0], image: ['picture', 0], size: [64, 64] })
  assert.deepEqual(
    pruneWorkflow(workflow, () => true),
    workflow,
  )
  const filled = fillWorkflow(workflow, new Map([['ref_video_1', 'a.mp4']]))
  assert.deepEqual(filled.load!.inputs, { file: 'a.mp4' })
  assert.deepEqual(workflow.load.inputs, { file: '{{ref_video_1}}' }, 'the template is not changed')
})

test('the number of frames follows the rule of the model, and is never too short', () => {
  const count = (seconds: number, length_rule: Parameters<typeof frameCount>[1]['length_rule'], fps = 24) =>
    frameCount(seconds, { fps, length_rule })
  assert.deepEqual([count(4, 'exact'), count(4, '17n+5'), count(5, '17n+5')], [96, 107, 124])
  assert.deepEqual([count(4, '8n+1'), count(5, '4n+1', 16), count(5, '4n+1', 25)], [97, 81, 125])
  for (const rule of ['17n+5', '8n+1', '4n+1'] as const) {
    const [step, rest] = rule.split('n+').map(Number) as [number, number]
    for (let seconds = 1; seconds <= 15; seconds++) {
      const frames = count(seconds, rule)
      assert.ok(frames % step === rest && frames >= seconds * 24 && frames < seconds * 24 + step, `${rule} ${seconds}`)
    }
  }
})

test('the size is the nearest that the model can render', () => {
  const h3 = { multiple_of: 32, pixels_max: 768 * 1344 }
  const size = (ratio: Parameters<typeof outputSize>[0], rule = h3) => {
    const { width, height } = clipSize(outputSize(ratio, []), rule)
    return `${width}x${height}`
  }
  assert.deepEqual(
    (['21:9', '16:9', '4:3', '1:1', '3:4', '9:16'] as const).map((ratio) => size(ratio)),
    [...['1536x672', '1344x768', '1024x768', '768x768', '768x1024', '768x1344']],
  )
  assert.deepEqual(clipSize({ width: 1366, height: 768 }, {}), { width: 1366, height: 768 })
  assert.deepEqual(clipSize({ width: 1366, height: 768 }, { multiple_of: 16 }), { width: 1360, height: 768 })
})

test('the templates in examples/comfyui fit the modes they are named for', () => {
  const folder = join(ROOT, 'examples', 'comfyui')
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'))
  const templates = {
    h3: {
      text: 'h3-frames.json',
      first_frame: 'h3-frames.json',
      last_frame: 'h3-frames.json',
      both_frames: 'h3-frames.json',
      references: 'h3-references.json',
    },
    ltx: { text: 'ltx-2-text.json', first_frame: 'ltx-2-first-frame.json' },
    test: { text: 'no-weights-text.json', first_frame: 'no-weights-first-frame.json' },
  }
  assert.deepEqual([...new Set(Object.values(templates).flatMap((modes) => Object.values(modes)))].sort(), files.sort())
  for (const workflows of Object.values(templates))
    assert.deepEqual(engineMistakes('video', { ...entry, workflows }, undefined, { config_dir: folder }), [])
  const h3 = readWorkflow('h3-references.json', folder)
  assert.ok('workflow' in h3)
  const left = fillWorkflow(
    h3.workflow,
    new Map([
      ['ref_image_1', 'a.png'],
      ['prompt', 'A cat'],
    ]),
  )
  const references = Object.values(left).find(({ class_type }) => class_type === 'MiniMaxH3ReferenceToVideo')!
  assert.deepEqual(
    Object.keys(references.inputs).filter((name) => name.startsWith('ref_') && name.includes('.')),
    ['ref_images.ref_image_0'],
  )
})
