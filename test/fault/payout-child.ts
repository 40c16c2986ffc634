/**
 * The modules that take payouts as a process: `node payout-child.ts <dies at> <database url> <partner and references, JSON>
 * <now>`. Says each reference once it is answered, then how many points it passed; or dies at the given one.
 */
import { writeSync } from 'node:fs'
import { createTestService, pay, type TestPartner } from '../support/composition.ts'
import { createFate } from './crashing.ts'

const [, , diesAt = '', url = '', given = '', now = ''] = process.argv
const { wrapDatabase, passed } = createFate(Number(diesAt))
const { partner, references } = JSON.parse(given) as { partner: TestPartner; references: readonly string[] }
const service = await createTestService({ url, now: new Date(now), wrapDatabase })
const rounds = 3
const perRound = Math.ceil(references.length / rounds)
for (let at = 0; at < references.length; at += perRound)
  await Promise.all(
    references.slice(at, at + perRound).map(async (reference) => {
      await pay(service, partner, '1.00', { reference })
      // At once: what is answered is known before the next point is passed.
      writeSync(1, `${reference}\n`)
    }),
  )
await service.close()
process.stdout.write(String(passed()))
