import { Type } from 'typebox'
import { unixSeconds } from '../platform/clock.ts'
import { listQuery, listSchema } from '../platform/http/list.ts'
import { PURPOSES } from './purposes.ts'
import type { FileRow } from './store/files.ts'

/** Default page size of files. */
export const FILES_PER_PAGE = 100

const PurposeSchema = Type.Enum([...PURPOSES])

/** Uploads live this long unless `expires_after` shortens it; nothing lengthens it. */
export const FILE_SECONDS_MAX = 2_592_000

/** The text fields of an upload. */
export const UploadFields = Type.Object({
  purpose: PurposeSchema,
  'expires_after[anchor]': Type.Optional(Type.Literal('created_at')),
  'expires_after[seconds]': Type.Optional(Type.Integer({ minimum: 3600, maximum: FILE_SECONDS_MAX })),
})

/** The form of an upload, for the API page: the parts are read as they stream in. */
export const CreateFile = Type.Object({
  file: Type.String({ format: 'binary', description: 'The bytes, at most 100,000,000. Exactly one file part.' }),
  ...UploadFields.properties,
})

export const ListFiles = Type.Object({
  ...listQuery({ default: FILES_PER_PAGE, max: 10_000 }),
  purpose: Type.Optional(PurposeSchema),
})

export const FileObject = Type.Object({
  id: Type.String(),
  file_id: Type.String({ description: 'Equal to `id`.' }),
  object: Type.Literal('file'),
  bytes: Type.Integer(),
  created_at: Type.Integer(),
  expires_at: Type.Integer(),
  filename: Type.String(),
  purpose: PurposeSchema,
  status: Type.Literal('processed'),
  status_details: Type.Union([Type.String(), Type.Null()]),
})

export const FileList = listSchema(FileObject)

export const DeletedFile = Type.Object({ id: Type.String(), object: Type.Literal('file'), deleted: Type.Literal(true) })

/** The wire form of a file. Times are Unix seconds. */
export function fileView(file: FileRow) {
  return {
    id: file.id,
    file_id: file.id,
    object: 'file' as const,
    bytes: file.size_bytes,
    created_at: unixSeconds(file.created_at),
    expires_at: unixSeconds(file.expires_at),
    filename: file.filename,
    purpose: file.purpose,
    status: 'processed' as const,
    status_details: null,
  }
}
