import sharp from 'sharp'

/** A lighthouse at dusk, 1366 × 768, drawn when it is needed: PNG bytes of our own making. */
export async function demoPicture(): Promise<Buffer> {
  return sharp(Buffer.from(scene())).png().toBuffer()
}

function scene(): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="1366" height="768" viewBox="0 0 1366 768">
  <defs>
    <linearGradient id="sky" x1="0" y1="0" x2="0" y2="1">
      <stop offset="0" stop-color="#141a3c"/><stop offset=".42" stop-color="#54407a"/>
      <stop offset=".74" stop-color="#d5746e"/><stop offset="1" stop-color="#ffc278"/>
    </linearGradient>
    <linearGradient id="sea" x1="0" y1="0" x2="0" y2="1">
      <stop offset="0" stop-color="#e08f70"/><stop offset=".16" stop-color="#7d4f79"/><stop offset="1" stop-color="#11173a"/>
    </linearGradient>
    <radialGradient id="sun"><stop offset="0" stop-color="#fff4d2"/><stop offset=".22" stop-color="#ffe2a0" stop-opacity=".9"/>
      <stop offset="1" stop-color="#ffb877" stop-opacity="0"/></radialGradient>
    <linearGradient id="beam" x1="1" y1="0" x2="0" y2="0">
      <stop offset="0" stop-color="#fff3c4" stop-opacity=".85"/><stop offset="1" stop-color="#fff3c4" stop-opacity="0"/>
    </linearGradient>
    <linearGradient id="tower" x1="0" y1="0" x2="1" y2="0">
      <stop offset="0" stop-color="#f6e6da"/><stop offset=".55" stop-color="#cdb3b6"/><stop offset="1" stop-color="#5e4a68"/>
    </linearGradient>
    <clipPath id="shaft"><path d="M1018 560 L1034 300 H1094 L1110 560 Z"/></clipPath>
  </defs>
  <rect width="1366" height="768" fill="url(#sky)"/>
  ${stars()}
  <circle cx="430" cy="512" r="250" fill="url(#sun)"/>
  <circle cx="430" cy="512" r="46" fill="#fff1cb"/>
  ${clouds()}
  <rect y="512" width="1366" height="256" fill="url(#sea)"/>
  ${waves()}
  <path d="M1058 268 L0 96 V236 L1058 276 Z" fill="url(#beam)"/>
  <path d="M780 640 C840 566 930 548 1000 552 C1090 540 1240 548 1366 500 V768 H720 C730 720 748 676 780 640 Z" fill="#1a1733"/>
  <path d="M860 610 C930 572 1010 566 1070 560 C1180 556 1270 546 1366 520" fill="none" stroke="#6a4a68" stroke-width="3" opacity=".6"/>
  <path d="M1018 560 L1034 300 H1094 L1110 560 Z" fill="url(#tower)"/>
  <g clip-path="url(#shaft)" fill="#b4473f"><path d="M1000 520 H1130 V470 H1000 Z"/><path d="M1000 420 H1130 V374 H1000 Z"/></g>
  <rect x="1022" y="290" width="84" height="12" rx="3" fill="#2a2444"/>
  <rect x="1042" y="250" width="44" height="40" fill="#fff6d8"/>
  <path d="M1042 250 V290 M1057 250 V290 M1071 250 V290 M1086 250 V290" stroke="#2a2444" stroke-width="3"/>
  <path d="M1034 250 H1094 L1064 220 Z" fill="#8e332f"/>
  <circle cx="1064" cy="270" r="62" fill="url(#sun)" opacity=".9"/>
  <rect x="1056" y="430" width="16" height="24" rx="8" fill="#ffdf9a"/>
</svg>`
}

function stars(): string {
  return Array.from({ length: 70 }, (_, i) => {
    const x = (i * 197.3) % 1366
    const y = (i * 89.7) % 250
    return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${(0.6 + (i % 4) * 0.3).toFixed(1)}" fill="#fff" opacity="${(0.75 - y / 380).toFixed(2)}"/>`
  }).join('')
}

function clouds(): string {
  return Array.from({ length: 9 }, (_, i) => {
    const x = (i * 331) % 1366
    const y = 300 + ((i * 53) % 170)
    return `<ellipse cx="${x}" cy="${y}" rx="${150 + (i % 4) * 46}" ry="${5 + (i % 3) * 4}" fill="#ffd3a6" opacity="${0.16 + (i % 3) * 0.08}"/>`
  }).join('')
}

function waves(): string {
  return Array.from({ length: 46 }, (_, i) => {
    const y = 520 + ((i * 31) % 236)
    const near = (y - 512) / 256
    const x = 430 + (((i * 97) % 200) - 100) * (0.6 + near * 4)
    const half = 16 + near * 90
    return `<path d="M${(x - half).toFixed(0)} ${y} q${half.toFixed(0)} ${(3 + near * 5).toFixed(0)} ${(half * 2).toFixed(0)} 0" fill="none" stroke="#ffd9a0" stroke-width="${(1.4 + near * 2).toFixed(1)}" opacity="${(0.7 - near * 0.5).toFixed(2)}"/>`
  }).join('')
}
