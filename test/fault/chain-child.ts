/**
 * The settlement worker and the loop of a chain connector as a process: `node chain-child.ts <crash at> <database url>
 * <address of the node> <partner> <now>`. Runs until every payment of the partner is final and prints how many crash points it
 * passed, or crashes at the given point: around each commit, and around each transaction that a node gets.
 */
import { sql } from '../../service/src/postgres/index.ts'
import { connectAnvil } from '../support/chain/anvil.ts'
import { createChainScene } from '../support/chain/scene.ts'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', nodeUrl = '', partnerId = '', now = ''] = process.argv
const { point, wrapDatabase, passed } = createCrashPoints(Number(crashAt))

const plainFetch = globalThis.fetch
globalThis.fetch = async (input, init) => {
  const isSent = String(init?.body).includes('"eth_sendRawTransaction"')
  if (isSent) point()
  const response = await plainFetch(input, init)
  if (isSent) point()
  return response
}

const anvil = connectAnvil(nodeUrl)
const scene = await createChainScene({ anvil, url, now: new Date(now), wrapDatabase })
const open = () =>
  scene.service.db.row(sql`
    select id from payouts.payouts where partner_id = ${partnerId} and status in ('Pending', 'Processing', 'Sent') limit 1`)
while ((await open()) !== undefined) {
  await scene.pump()
  await anvil.mine(1)
  scene.service.clock.advance(1000)
}
await scene.service.close()
process.stdout.write(String(passed()))
