/** How a call of a verb ends. */
import assert from 'node:assert/strict'
import { Refusal } from '../../service/src/kernel/api/index.ts'

/** The refusal by which the call ends. Fails if it succeeds, or fails otherwise. */
export async function refusalOf(call: Promise<unknown>): Promise<Refusal> {
  const error = await call.then(
    () => assert.fail('the call was not refused'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof Refusal, String(error))
  return error
}

/** Returns the answer of a call, or the code of its refusal. */
export const answerOrCode = <T>(call: Promise<T>): Promise<T | string> =>
  call.catch((reason: unknown) => {
    if (reason instanceof Refusal) return reason.code
    throw reason
  })

/** The code of the refusal by which the call ends, or `done`. */
export const outcomeCode = (call: Promise<unknown>): Promise<string> => answerOrCode(call.then(() => 'done'))

/** Checks, for `assert.rejects`, a refusal with the code, whose first field is at the pointer, or whose detail has the words. */
export const refused =
  (code: string, where?: string | RegExp) =>
  (error: unknown): true => {
    assert.ok(error instanceof Refusal, String(error))
    assert.equal(error.code, code)
    if (typeof where === 'string') assert.equal(error.errors[0]?.pointer, where)
    else if (where !== undefined) assert.match(error.detail, where)
    return true
  }
