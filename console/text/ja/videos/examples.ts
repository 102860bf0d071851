import type en from '../../en/videos/examples.ts'

export default {
  boat: {
    name: '静かな情景',
    prompt:
      '夜明けの静かな湖を紙の舟がゆっくり漂う。水面には霧、柔らかな金色の光。カメラは水面の高さで後を追う。かすかな波の音と、遠くの鳥の声。',
    prompt_in_english:
      'A paper boat drifts across a still lake at dawn. Mist over the water, soft golden light. The camera follows slowly at water level. Gentle lapping, a distant bird.',
  },
  diner: {
    name: 'セリフのある場面',
    prompt:
      '深夜の食堂、窓を打つ雨。店員が疲れた旅人にコーヒーを注ぎ、微笑む。<d>遠くから来たの？</d> 旅人が顔を上げる。<d>ずいぶん遠くからね。</d> 暖かい光、浅い被写界深度、ネオンの低い唸り。',
    prompt_in_english:
      'A late-night diner, rain on the window. A waitress pours coffee for a tired traveler and smiles. <d>遠くから来たの？</d> He looks up. <d>ずいぶん遠くからね。</d> Warm light, shallow focus, a low hum of neon.',
  },
  runner: {
    name: '動きとカメラワーク',
    prompt:
      '日の出、雲海の上の尾根を走るランナー。ドローンが周囲を回りながら引いていき、山脈の全景を映し出す。風の音、速い息づかい、砂利を踏む足音。',
    prompt_in_english:
      'A runner on a ridge above the clouds at sunrise, seen from a drone that circles and pulls back to show the whole mountain range. Wind, fast breath, footsteps on gravel.',
  },
} satisfies Record<keyof typeof en, unknown>
