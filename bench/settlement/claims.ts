/** Measures a claim among many due payouts: milliseconds to find partners and claim a set. */
import { createLog, newId, systemClock } from '../../service/src/kernel/index.ts'
import { composeModules } from '../../service/src/app/modules.ts'
import { readConfig } from '../../service/src/app/config.ts'
import { createDatabase } from '../../service/src/postgres/index.ts'
import { withClient } from '../postgres.ts'
import { type Contestant, spreadOf } from '../rounds.ts'

const config = readConfig({}, { MASTER_KEY: Buffer.alloc(32, 7).toString('base64') })
const partners = 100
const setMax = 256
const batchRows = 200_000
const connector = 'sandbox'

/** `due` payouts of 100 partners are due. A sample claims sets, and gives them back. */
export async function startClaims(
  name: string,
  url: string,
  due: number,
): Promise<Contestant & { readonly stop: () => Promise<void> }> {
  await withClient(url, (client) => fillDue(client, due))
  const log = createLog('silent')
  const db = createDatabase({ url, connectionsMax: 4, log })
  const { payoutLife } = composeModules({ config, db, clock: systemClock, log })
  const giveBack = () =>
    withClient(url, (client) =>
      client.query(`update payouts.payouts set due_at = '2025-01-01', lease_id = null where lease_id is not null`),
    )
  return {
    name,
    sample: async () => {
      const took: number[] = []
      for (let run = 0; run < 20; run += 1) {
        const begun = performance.now()
        const partnerIds = await payoutLife.partnersWithDue(connector, 50)
        const claims = await payoutLife.claim(connector, partnerIds, Math.floor(setMax / partnerIds.length))
        took.push(performance.now() - begun)
        if (claims.length === 0) throw new Error('nothing was due')
        await giveBack()
      }
      const { median } = spreadOf(took)
      return { rate: 1000 / median, p50Ms: median }
    },
    stop: () => db.close(),
  }
}

type Client = { readonly query: (text: string) => Promise<unknown> }

async function fillDue(client: Client, due: number): Promise<void> {
  const ids = Array.from({ length: partners }, () => newId())
  await client.query(`insert into access.partners (id, name, created_at)
    select id, 'Bench', '2025-01-01' from unnest('{${ids.join()}}'::uuid[]) as id`)
  for (let from = 0; from < due; from += batchRows)
    await client.query(`insert into payouts.payouts (partner_id, id, operation, idempotency_key, request_hash,
        transaction_id, reference, reserve_id, amount, currency, creditor_name, creditor_account, creditor_country, rail,
        end_to_end_id, ip_address, status, send_attempts, due_at, created_at, updated_at)
      select ('{${ids.join()}}'::uuid[])[1 + n % ${partners}], id, 'createFiatPayout', id::text, '', id, 'txn_' || n, id, 100,
        'EUR', 'Bench', 'NL91ABNA0417164300', 'NL', 'Sepa', replace(id::text, '-', ''), '127.0.0.1', 'Pending', 0,
        '2025-01-01', '2025-01-01', '2025-01-01'
      from generate_series(${from}::bigint, ${Math.min(due, from + batchRows) - 1}::bigint) as n
        cross join lateral (select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id) as made`)
  await client.query('vacuum (analyze) payouts.payouts')
}
