/** A child process of the bench. It responds once to each request message, in any order. */
import { fork, type ForkOptions } from 'node:child_process'
import { join } from 'node:path'
import { baseEnv } from './environment.ts'

export type Child = {
  /** Rejects if the process fails or has ended. */
  readonly request: <T>(message: object) => Promise<T>
  readonly stop: () => void
}
type Response = { readonly id: number; readonly failed?: string; readonly value?: unknown }
type Pending = { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }

type ChildOptions = { readonly args?: readonly string[]; readonly execArgv?: readonly string[] }

/** `file` is in the folder of the bench. */
export function startChild(file: string, { args = [], execArgv = [] }: ChildOptions = {}): Child {
  const options: ForkOptions = { env: baseEnv, serialization: 'advanced', execArgv: [...execArgv] }
  const child = fork(join(import.meta.dirname, file), args, options)
  const pending = new Map<number, Pending>()
  let lastId = 0
  child.on('message', ({ id, failed, value }: Response) => {
    const caller = pending.get(id)
    pending.delete(id)
    if (failed === undefined) caller?.resolve(value)
    else caller?.reject(new Error(`${file} failed: ${failed}`))
  })
  child.once('exit', (code) => {
    for (const { reject } of pending.values()) reject(new Error(`${file} ended with ${code}`))
  })
  return {
    request: <T>(message: object) =>
      new Promise<T>((resolve, reject) => {
        const id = ++lastId
        pending.set(id, { resolve: resolve as Pending['resolve'], reject })
        child.send({ ...message, id })
      }),
    stop: () => child.disconnect(),
  }
}

/** Runs in the child: `handle` returns the value or throws. The process ends with its parent. */
export function serveRequests<M>(handle: (message: M) => unknown): void {
  process.on('message', (message: M & { readonly id: number }) => {
    const { id } = message
    Promise.resolve()
      .then(() => handle(message))
      .then((value) => process.send?.({ id, value }))
      .catch((error: unknown) => process.send?.({ id, failed: error instanceof Error ? error.stack : String(error) }))
  })
  process.on('disconnect', () => process.exit(0))
}
