declare module 's3rver' {
  type Server = import('node:http').Server
  type Store = {
    getObject(bucket: string, key: string, options?: { start?: number; end?: number | string }): Promise<unknown>
  }
  type Running = { readonly httpServer: Server; readonly store: Store; run(): Promise<unknown>; close(): Promise<void> }
  const S3rver: new (options: {
    address: string
    port: number
    silent: boolean
    directory: string
    configureBuckets?: { name: string }[]
  }) => Running
  export default S3rver
}
