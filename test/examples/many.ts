/** One response of several requests. */
import type { Answer } from '../support/client.ts'

/** The last response of `count` requests one after the other. */
export async function last(count: number, request: () => Promise<Answer>): Promise<Answer> {
  let answer = await request()
  for (let sent = 1; sent < count; sent += 1) answer = await request()
  return answer
}

/** The refused response among requests that run at the same time. */
export async function refusedAmong(count: number, request: () => Promise<Answer>, status: number): Promise<Answer> {
  const answers = await Promise.all(Array.from({ length: count }, request))
  const refused = answers.find((answer) => answer.status === status)
  if (refused === undefined) throw new Error(`none of ${count} responses is ${status}`)
  return refused
}
