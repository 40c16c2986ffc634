/** Runs the conformance kit on the connector of file-based banks, with files in a folder and over SFTP, and a simulated bank. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Order } from '../../../../examples/iso-bank/model.ts'
import { addPartner } from '../../../../test/support/composition.ts'
import { businessDay, createIsoWorld, type IsoWorld } from '../../../../test/support/iso-bank.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { Unreachable } from '../../kernel/api/index.ts'
import { type Database, sql } from '../../postgres/index.ts'
import { type BankRecord, checks, type Disorder, type Fault, type Harness, runChecks } from '../conformance/index.ts'
import type { Connector, Instruction } from '../../rails/index.ts'
import { createIsoBank } from './banks.ts'

/** A call is one commit: it accepts and answers all of its instructions. */
const cannot = ['lose half', 'answer later'] as const
const stepMs = 1000
/** The harness goes from a file to its status report, the booking and the return. */
const stepsPerPassing = 4
const service = await useModules({ now: businessDay })

/** The fault of the next SQL statement or transaction: the connector's calls end in the database. */
function createFaults() {
  let fault: Fault | undefined
  let mended = Promise.withResolvers<void>()
  const broken = () => new Unreachable('downstream_unreachable', 'the connection broke')
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    const now = fault
    if (now === 'hang') await mended.promise
    else fault = undefined
    if (now === 'hang' || now === 'lose call' || now === 'error before') throw broken()
    const answer = await work()
    if (now === 'lose answer' || now === 'error after') throw broken()
    return answer
  }
  return {
    wrap: (db: Database): Database => ({
      ...db,
      rows: (statement) => around(() => db.rows(statement)),
      row: (statement) => around(() => db.row(statement)),
      run: (statement) => around(() => db.run(statement)),
      transaction: (work, options) => around(() => db.transaction(work, options)),
    }),
    breakNext: (next: Fault) => void (fault = next),
    mend: () => {
      fault = undefined
      mended.resolve()
      mended = Promise.withResolvers()
    },
  }
}

/** Makes the bank report out of order. A payment to be reported late is held by its end-to-end id. */
function createDisorders({ bank }: IsoWorld) {
  let holdsNext = false
  const settings = (twice: boolean, shuffles: boolean): Order => ({
    order: 'settings',
    settings: { twice, shuffles, answerMs: stepMs, bookMs: stepMs, laterMs: stepMs },
  })
  bank.order(settings(false, false))
  return {
    disturb: (disorder: Disorder) => {
      if (disorder === 'delay') holdsNext = true
      else bank.order(settings(disorder === 'repeat', disorder === 'reverse'))
    },
    mend: () => {
      holdsNext = false
      bank.order(settings(false, false))
      bank.order({ order: 'release' })
    },
    around: (connector: Connector): Connector => ({
      ...connector,
      instruct: (instructions, options) => {
        if (holdsNext)
          for (const { endToEndId } of instructions)
            bank.order({ order: 'payment', match: { endToEndId }, treatment: { do: 'hold' } })
        holdsNext = false
        return connector.instruct(instructions, options)
      },
    }),
  }
}

async function createHarness(world: IsoWorld): Promise<Harness> {
  const { bank, deps, steps } = world
  const { clock } = service
  const faults = createFaults()
  const disorders = createDisorders(world)
  const partners = [await addPartner(service), await addPartner(service)] as const
  /** Delivers ready files to the bank, which reads them. */
  const flush = async () => {
    while ((await steps.make()) + (await steps.deliver()) + bank.step() > 0);
  }
  return {
    open: async () => ({
      connector: disorders.around(createIsoBank({ ...deps, db: faults.wrap(deps.db) }).connector),
      close: async () => undefined,
    }),
    partnerIds: [partners[0].partnerId, partners[1].partnerId],
    currencies: ['EUR', 'GBP', 'USD'],
    // SEPA characters only: others are transliterated.
    creditorNames: ['Zoe Lukasiewicz', "Soren O'Neill", 'A-B (C) / D: E, F. G + H?', 'Grace Hopper'],
    clock,
    cannot,
    prepare: (instruction, behaviour) => ({
      ...instruction,
      // The bank rejects and returns by amount. An account with wrong check digits does not reach it.
      ...(behaviour === 'reject' ? { amount: 4001_01n } : {}),
      ...(behaviour === 'return' ? { amount: 4001_05n } : {}),
      ...(behaviour === 'refuse' ? { creditorAccount: 'DE90370400440532013000' } : {}),
    }),
    breakNext: faults.breakNext,
    disturb: disorders.disturb,
    mend: () => {
      faults.mend()
      disorders.mend()
    },
    letTimePass: async () => {
      for (let step = 0; step < stepsPerPassing; step += 1) {
        await flush()
        clock.advance(stepMs)
      }
      await flush()
      while ((await steps.take()) > 0);
    },
    recordOf: (instruction) => recordOf(world, instruction, flush),
  }
}

type BankRow = Pick<BankRecord, 'endToEndId' | 'amount' | 'currency' | 'creditorName' | 'creditorAccount'> & {
  readonly status: string
}

/** The connector decides refusals; the bank has everything else. */
async function recordOf(
  { bank }: IsoWorld,
  { partnerId, id }: Instruction,
  flush: () => Promise<void>,
): Promise<BankRecord | undefined> {
  const row = await service.db.row<BankRow>(sql`
    select end_to_end_id, amount, currency, creditor_name, creditor_account, status from rails.iso_instructions
    where partner_id = ${partnerId} and id = ${id}`)
  if (row === undefined) return undefined
  const { status, ...stored } = row
  if (status === 'Refused') return { ...stored, timesReceived: 1, timesExecuted: 0 }
  await flush()
  const own = bank.book().payments.filter(({ endToEndId }) => endToEndId === stored.endToEndId)
  const [payment] = own
  assert.ok(payment, 'the bank has what the connector has accepted')
  const { creditorName, creditorAccount, creditorBic, remittance, amount, endToEndId } = payment
  const willBe = (each: typeof payment) =>
    each.status === 'accepted' || each.status === 'held' ? 1 : each.timesExecuted
  return {
    ...{ creditorName, creditorAccount, creditorBic, remittance, amount, endToEndId, currency: stored.currency },
    timesReceived: own.reduce((sum, each) => sum + each.timesReceived, 0),
    timesExecuted: own.reduce((sum, each) => sum + willBe(each), 0),
  }
}

for (const transport of ['folder', 'sftp'] as const)
  test(`the connector passes every applicable check with files over ${transport}`, async (context) => {
    const world = await createIsoWorld({ db: service.db, clock: service.clock, transport })
    context.after(world.close)
    const results = await runChecks(await createHarness(world))
    assert.deepEqual(
      results.filter(({ result }) => result === 'failed').map(({ title, details }) => ({ title, details })),
      [],
    )
    assert.equal(results.length, checks.length)
    assert.deepEqual(
      results.filter(({ result }) => result === 'not checked').map(({ details }) => details),
      ['the bank cannot: answer later', 'the bank cannot: lose half'],
    )
    assert.deepEqual(world.bank.book().duplicates, [], 'nothing was sent to the bank twice')
  })
