/** Sends several requests and returns one response. */
import type { Answer } from '../support/client.ts'

/** Sends `count` requests one after the other, and returns the last response. */
export async function last(count: number, request: () => Promise<Answer>): Promise<Answer> {
  let answer = await request()
  for (let sent = 1; sent < count; sent += 1) answer = await request()
  return answer
}

/** Sends requests in parallel, and returns the response that was refused. */
export async function refusedAmong(count: number, request: () => Promise<Answer>, status: number): Promise<Answer> {
  const answers = await Promise.all(Array.from({ length: count }, request))
  const refused = answers.find((answer) => answer.status === status)
  if (refused === undefined) throw new Error(`none of ${count} responses is ${status}`)
  return refused
}
