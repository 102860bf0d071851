import en from '../../text/en/videos/sharing.ts'
import ja from '../../text/ja/videos/sharing.ts'
import { addTexts } from '../../text/use-text.ts'

// Both languages come with the dialog: they are short, and a chunk for each would cost every first visit the names of these chunks.
addTexts('en', 'videos/sharing', en)
addTexts('ja', 'videos/sharing', ja)
