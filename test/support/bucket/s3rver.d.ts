declare module 's3rver' {
  type Server = import('node:http').Server
  type Running = { readonly httpServer: Server; run(): Promise<unknown>; close(): Promise<void> }
  const S3rver: new (options: {
    address: string
    port: number
    silent: boolean
    directory: string
    configureBuckets?: { name: string }[]
  }) => Running
  export default S3rver
}
