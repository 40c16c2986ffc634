/** The database is silent for seconds while payouts arrive: answers in time, and payouts again within 2 s of its return. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, textAt } from '../support/client.ts'
import { scaled } from '../support/faults.ts'
import { useProxiedDatabase, useService } from '../support/fixture.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, payoutText } from '../support/world.ts'

const callers = 4
const outageMs = scaled(6_000, 20_000)
const requestTimeoutMs = 3_000
/** Signature, network and scheduling of a busy machine. A request without a limit would wait for the whole outage. */
const answerMarginMs = outageMs - requestTimeoutMs - 500

const { wire, url } = await useProxiedDatabase()
const service = await useService({ env: { DATABASE_URL: url, REQUEST_TIMEOUT_MS: String(requestTimeoutMs) } })

type TimedAnswer = { readonly startedMs: number; readonly endedMs: number; readonly answer: Answer }

/** Sends payouts until `work` has ended. Returns all answers with their times. */
async function payWhile(work: (answers: readonly TimedAnswer[]) => Promise<void>): Promise<readonly TimedAnswer[]> {
  const { client } = service
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  const answers: TimedAnswer[] = []
  let going = true
  const pay = async () => {
    while (going) {
      const startedMs = performance.now()
      const answer = await client.post('/v1/payouts/fiat', payoutText(beneficiary, '0.01'))
      answers.push({ startedMs, endedMs: performance.now(), answer })
    }
  }
  const paying = Promise.all(Array.from({ length: callers }, pay))
  await until('payouts are accepted', () => answers.length > 20)
  await work(answers).finally(() => {
    going = false
  })
  await paying
  return answers
}

const returns: Readonly<Record<string, () => Promise<void>>> = {
  'its connections are reset': () => wire.mend(),
  // As after a failure of the network: no side receives the end of the old connections.
  'its connections stay silent': () => Promise.resolve(wire.strand()),
  'it was unreachable in between': async () => {
    await wire.cut()
    await wire.mend()
  },
}
for (const [what, restore] of Object.entries(returns))
  test(`502 or 504 in time while the database is silent, and 200 once it answers again, when ${what}`, async (t) => {
    let returnedMs = 0
    const answers = await payWhile(async (given) => {
      wire.hold()
      await pause(outageMs)
      returnedMs = performance.now()
      await restore()
      const before = given.length
      await until('payouts are accepted again', () => given.slice(before).some(({ answer }) => answer.status === 200))
    })
    const bad = answers.filter(({ answer }) => answer.status !== 200)
    assert.ok(bad.length >= callers)
    for (const { answer } of bad) assert.ok([502, 503, 504].includes(answer.status), `${answer.status} ${answer.text}`)
    const longestMs = Math.max(...answers.map(({ startedMs, endedMs }) => endedMs - startedMs))
    const acceptedMs = answers
      .filter(({ answer, endedMs }) => answer.status === 200 && endedMs > returnedMs)
      .map(({ endedMs }) => endedMs - returnedMs)[0]
    t.diagnostic(`longest request ${Math.round(longestMs)} ms, first payout after ${Math.round(acceptedMs ?? -1)} ms`)
    assert.ok(longestMs < requestTimeoutMs + answerMarginMs, `a request took ${Math.round(longestMs)} ms`)
  })
