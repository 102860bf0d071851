import { join } from 'node:path'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { firstPaint } from './build/first-paint.ts'
import { precompress } from './build/precompress.ts'

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
      output: { codeSplitting: { groups: [{ name: 'icons', test: /lucide-react/, minShareCount: 2 }] } },
    },
  },
})
