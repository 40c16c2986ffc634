/** A process of the bench that is told and asked by message: one answer to each, in any order. */
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { baseEnv } from '../environment.ts'

export type Asked = {
  /** Rejects where the process fails or has ended. */
  readonly ask: <T>(question: object) => Promise<T>
  readonly stop: () => void
}
type Answer = { readonly id: number; readonly failed?: string; readonly value?: unknown }
type Waiting = { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }

export function startAsked(file: string, execArgv: readonly string[] = []): Asked {
  const child = fork(join(import.meta.dirname, file), {
    env: baseEnv,
    serialization: 'advanced',
    execArgv: [...execArgv],
  })
  const waiting = new Map<number, Waiting>()
  let last = 0
  child.on('message', ({ id, failed, value }: Answer) => {
    const asker = waiting.get(id)
    waiting.delete(id)
    if (failed === undefined) asker?.resolve(value)
    else asker?.reject(new Error(`${file} failed: ${failed}`))
  })
  child.once('exit', (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`${file} ended with ${code}`))
  })
  return {
    ask: <T>(question: object) =>
      new Promise<T>((resolve, reject) => {
        const id = ++last
        waiting.set(id, { resolve: resolve as Waiting['resolve'], reject })
        child.send({ ...question, id })
      }),
    stop: () => child.disconnect(),
  }
}

/** The other side: `answer` gives the value, or throws. The process ends with whoever started it. */
export function answerAsked<Q>(answer: (question: Q) => unknown): void {
  process.on('message', (question: Q & { readonly id: number }) => {
    const { id } = question
    Promise.resolve()
      .then(() => answer(question))
      .then((value) => process.send?.({ id, value }))
      .catch((error: unknown) => process.send?.({ id, failed: error instanceof Error ? error.stack : String(error) }))
  })
  process.on('disconnect', () => process.exit(0))
}
