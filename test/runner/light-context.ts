import hooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

/**
 * `node:test` follows every promise and socket of its process, to know which test an error belongs to. AsyncLocalStorage knows it too, for
 * less (docs/decisions/0044-test-matrix.md). Loaded before `node:test`, this gives it a hook that sees only tests, and the id of the test
 * that runs. Source: `lib/internal/test_runner/harness.js` of Node.js 24.
 */
const { AsyncResource, AsyncLocalStorage, createHook, executionAsyncId } = hooks
type Resource = InstanceType<typeof AsyncResource>
const running = new AsyncLocalStorage<Resource>()
let onTest: Parameters<typeof createHook>[0]['init']

Object.assign(hooks, {
  AsyncResource: new Proxy(AsyncResource, {
    construct(target, args, made_as) {
      const test: Resource = Reflect.construct(target, args, made_as)
      const enter = test.runInAsyncScope.bind(test)
      test.runInAsyncScope = (fn, self, ...rest) => enter(() => running.run(test, () => fn.apply(self!, rest)))
      onTest?.(test.asyncId(), args[0], test.triggerAsyncId(), test)
      return test
    },
  }),
  executionAsyncId: () => running.getStore()?.asyncId() ?? executionAsyncId(),
  // Called when the first test begins.
  createHook({ init }: Parameters<typeof createHook>[0]) {
    onTest = init
    Object.assign(hooks, { createHook })
    syncBuiltinESMExports()
    return { enable() {}, disable() {} }
  },
})
export const { describe } = await import('node:test')
Object.assign(hooks, { AsyncResource, executionAsyncId })
syncBuiltinESMExports()
