import type { S3Client } from '@aws-sdk/client-s3'
import { type S3Options, s3ClientOptions } from './bucket.ts'

/** Long enough to follow a redirect, and for clocks that differ a little. A download that has begun goes on. */
const PRESIGNED_SECONDS = 60

/** Returns URLs that read one object each for `PRESIGNED_SECONDS`. Nothing is asked of the bucket. */
export function openPresigner(options: S3Options): (object: string, answer: { media_type: string }) => Promise<string> {
  const endpoint = options.presigned_endpoint ?? options.endpoint
  let client: Promise<S3Client> | null = null
  return async (object, { media_type }) => {
    const [{ GetObjectCommand, S3Client }, { getSignedUrl }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('@aws-sdk/s3-request-presigner'),
    ])
    client ??= Promise.resolve(new S3Client(s3ClientOptions({ ...options, endpoint })))
    const command = new GetObjectCommand({
      Bucket: options.bucket,
      Key: object,
      ResponseContentType: media_type,
      ResponseCacheControl: 'private, no-store',
    })
    return getSignedUrl(await client, command, { expiresIn: PRESIGNED_SECONDS })
  }
}
