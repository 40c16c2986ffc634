/**
 * `--kill`: the service dies by SIGKILL in the middle of a round and starts again. Every payout that was acknowledged is
 * there once under its key; what got no answer is there once or not at all, and is accepted once when it is asked again.
 */
import { createPrivateKey } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { auditBooks } from './ledger-audit.ts'
import { startServer } from './children.ts'
import { startLoad } from './load.ts'
import { createBeneficiaries, createPartners, privateKeyPem } from './partners.ts'
import { type Postgres, withClient } from './postgres.ts'
import { type BenchPartner, signedHeaders } from './sign.ts'

const rounds = 3
const connections = 64
const secondsMax = 30
const count = 10_000
/** Long enough to be in full course, well before the requests run out. */
const killAfterMs = [1500, 800, 2000]

async function storedOnce(databaseUrl: string, keys: readonly string[]) {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ key: string; times: number }>(
      `select key, count(p.id)::integer as times from unnest($1::text[]) as key
        left join payouts.payouts p on p.idempotency_key = key group by key`,
      [keys],
    )
    return new Map(rows.map(({ key, times }) => [key, times]))
  })
}

/** The same request again, as a partner does who got no answer. */
async function askAgain(port: number, partner: BenchPartner, idempotencyKey: string): Promise<number> {
  const path = '/v1/payouts/fiat'
  const { beneficiaryId } = partner
  const body = JSON.stringify({ amount: 0.05, currency: 'EUR', beneficiaryId, idempotencyKey })
  const headers = await signedHeaders(partner, createPrivateKey(privateKeyPem), { method: 'POST', path, body })
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body,
    headers: { ...headers, 'Content-Type': 'application/json' },
  })
  await answer.arrayBuffer()
  return answer.status
}

export async function runKill(postgres: Postgres, say: (line: string) => void): Promise<readonly string[]> {
  const databaseUrl = await postgres.create('kill', 'service')
  const dataDir = join(postgres.folder, 'kill')
  const accounts = await createPartners(databaseUrl, dataDir, 1)
  const load = startLoad(privateKeyPem)
  const wrong: string[] = []
  const counted = { accepted: 0, unknown: 0 }
  let server = await startServer('serve', { databaseUrl, dataDir })
  const [partner] = (await createBeneficiaries(server.port, accounts)) as [BenchPartner]
  for (let round = 0; round < rounds; round += 1) {
    const keyPrefix = `kill-${round}`
    const shape = { kind: 'payout', cyclic: false, naming: true, references: [], partners: [partner] } as const
    await load.prepare({ ...shape, port: server.port, connections, seconds: secondsMax, count, keyPrefix })
    const going = load.go()
    await sleep(killAfterMs[round] ?? 0)
    await server.kill()
    const report = await going
    server = await startServer('serve', { databaseUrl, dataDir })
    const named = (indexes: readonly number[] = []) => indexes.map((index) => `${keyPrefix}-${index}`)
    const [acknowledged, unanswered] = [named(report.acknowledged), named(report.unanswered)]
    if (unanswered.length === 0) wrong.push(`round ${round + 1}: the kill met no request under way`)
    if (report.problem !== undefined) wrong.push(`round ${round + 1}: ${report.problem}`)
    const times = await storedOnce(databaseUrl, [...acknowledged, ...unanswered])
    for (const key of acknowledged)
      if (times.get(key) !== 1) wrong.push(`acknowledged ${key} is there ${times.get(key)} times`)
    const found = unanswered.filter((key) => times.get(key) === 1).length
    for (const key of unanswered) {
      const status = await askAgain(server.port, partner, key)
      if (status !== 200) wrong.push(`unanswered ${key} was answered ${status} when asked again`)
    }
    counted.accepted += acknowledged.length + unanswered.length
    wrong.push(...(await auditBooks(databaseUrl, counted)).map((what) => `round ${round + 1}: ${what}`))
    say(
      `kill ${round + 1} of ${rounds}: ${acknowledged.length} acknowledged and found once; ` +
        `${unanswered.length} without an answer, ${found} of them committed, all accepted once when asked again`,
    )
  }
  load.stop()
  await server.stop()
  return wrong
}
