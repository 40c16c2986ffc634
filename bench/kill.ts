/**
 * `--kill`: kills the service with SIGKILL in the middle of a round and restarts it. Each acknowledged payout is stored
 * once under its key. A payout without an answer is stored once or not at all, and a repeated request is accepted once.
 */
import { createPrivateKey } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { auditLedger } from './ledger-audit.ts'
import { startServer } from './children.ts'
import { startLoad } from './load.ts'
import { createBeneficiaries, createPartners, privateKeyPem } from './partners.ts'
import { type Postgres, withClient } from './postgres.ts'
import { type BenchPartner, signedHeaders } from './sign.ts'

const rounds = 3
const connections = 64
const secondsMax = 30
const count = 10_000
/** Late enough to be under full load, and well before the requests run out. */
const killAfterMs = [1500, 800, 2000]

async function timesStored(databaseUrl: string, keys: readonly string[]) {
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ key: string; times: number }>(
      `select key, count(payout.id)::integer as times from unnest($1::text[]) as key
        left join payouts.payouts as payout on payout.idempotency_key = key group by key`,
      [keys],
    )
    return new Map(rows.map(({ key, times }) => [key, times]))
  })
}

/** Repeats the request, as a partner does without an answer. */
async function repeatRequest(port: number, partner: BenchPartner, idempotencyKey: string): Promise<number> {
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
    const acknowledged = named(report.acknowledged)
    const unanswered = named(report.unanswered)
    if (unanswered.length === 0) wrong.push(`round ${round + 1}: the kill met no request in flight`)
    if (report.problem !== undefined) wrong.push(`round ${round + 1}: ${report.problem}`)
    const times = await timesStored(databaseUrl, [...acknowledged, ...unanswered])
    for (const key of acknowledged)
      if (times.get(key) !== 1) wrong.push(`acknowledged ${key} is stored ${times.get(key)} times`)
    const found = unanswered.filter((key) => times.get(key) === 1).length
    for (const key of unanswered) {
      const status = await repeatRequest(server.port, partner, key)
      if (status !== 200) wrong.push(`unanswered ${key} was answered ${status} when repeated`)
    }
    counted.accepted += acknowledged.length + unanswered.length
    wrong.push(...(await auditLedger(databaseUrl, counted)).map((what) => `round ${round + 1}: ${what}`))
    say(
      `kill ${round + 1} of ${rounds}: ${acknowledged.length} acknowledged and stored once; ` +
        `${unanswered.length} without an answer, ${found} of them committed, all accepted once when repeated`,
    )
  }
  load.stop()
  await server.stop()
  return wrong
}
