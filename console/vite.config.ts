import { join } from 'node:path'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Rolldown } from 'vite'
import { firstPaint } from './build/first-paint.ts'
import { precompress } from './build/precompress.ts'

/**
 * Which modules share a file, first match first: a first visit costs a request for each file, and small files compress badly. The limits
 * are in `test/console/weight.test.ts`.
 */
const CLIPS =
  /console[\\/]videos[\\/](draft|jobs|waiting|inputs|gallery[\\/](filter|settled-input)[.]|job[\\/](spritesheet-cell|thumbnail|status|progress)[.])/
const GROUPS: Rolldown.CodeSplittingGroup[] = [
  { name: 'main', tags: ['$initial'] },
  // The names of files are not needed at a first visit of any of its pages.
  { name: 'kit', test: /lucide-react|console[\\/](api|ui)[\\/](?!file-name)/, minShareCount: 3 },
  // What the pages of videos share: merged with small files of other pages otherwise, which a first visit would load with them.
  { name: 'clips', test: CLIPS, minShareCount: 2 },
  { name: 'shared', minShareCount: 2, entriesAware: true, entriesAwareMergeThreshold: 8000 },
]

/** Builds the console into `console/dist`, which the service serves; `npm run dev` serves it by the same. Source: docs/console.md. */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  plugins: [react(), tailwindcss(), firstPaint(), precompress()],
  resolve: {
    alias: {
      // The package writes style elements at run time, which the content security policy refuses.
      'react-remove-scroll': join(import.meta.dirname, 'ui', 'overlay', 'scroll-lock.tsx'),
    },
  },
  build: {
    target: ['chrome123', 'edge123', 'firefox121', 'safari17.5'],
    assetsInlineLimit: 0,
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        chunkFileNames: ({ name }) => `assets/${name.split('~', 1)[0]}-[hash].js`,
        codeSplitting: { groups: GROUPS },
      },
    },
  },
})
