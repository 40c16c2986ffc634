/** Runs the conformance kit on the chain connector: on a real chain behind a failing node, and on the simulated chain. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { contracts, startAnvil, testChainId } from '../../../../test/support/chain/anvil.ts'
import { cut, failing, hanging, type NodeProxy, startNodeProxy } from '../../../../test/support/chain/proxy.ts'
import { failingAmount } from '../../../../test/support/chain/token.ts'
import { addPartner } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { Unreachable } from '../../kernel/api/index.ts'
import { createLog, present } from '../../kernel/index.ts'
import { type Database, sql } from '../../postgres/index.ts'
import { type Instruction, zeroAddress } from '../../rails/index.ts'
import { type BankRecord, checks, type Fault, type Harness, runChecks } from '../../banks/conformance/index.ts'
import { createChainConnector } from './connector.ts'
import type { ChainDeps, ChainRules } from './deps.ts'
import { type Chain, createChain } from './quorum.ts'
import { createRpcNode } from './rpc.ts'
import { simulatedHash } from './rules.ts'
import { createSimulatedChain, simulatedChainId, simulatedTokens } from './chains.ts'

const confirmations = 2
const plenty = 10n ** 17n
/** A chain has no returns, answers each instruction, and its notifications are rows in order. */
const cannot = ['return', 'answer later', 'lose half', 'repeat', 'reverse', 'delay'] as const
/** Longer than every pause of the connector. */
const pauseMs = 20_000
const anvil = await startAnvil()
const proxy = await startNodeProxy(anvil.url)
const service = await useModules()
after(async () => {
  await proxy.close()
  await anvil.stop()
})

/** The fault of the next call to the node or the database, whichever comes first. */
function createFaults(node: NodeProxy | undefined) {
  let fault: Fault | undefined
  let mended = Promise.withResolvers<void>()
  const take = () => {
    const now = fault
    if (now !== 'hang') fault = undefined
    return now
  }
  const broken = () => new Unreachable('downstream_unreachable', 'the connection broke')
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    const now = take()
    if (now === 'hang') await mended.promise
    if (now === 'lose call' || now === 'error before' || now === 'hang') throw broken()
    const answer = await work()
    if (now === 'lose answer' || now === 'error after') throw broken()
    return answer
  }
  node?.behave(async (_request, forward) => {
    const now = take()
    if (now === 'hang') return hanging
    if (now === 'lose call') return cut
    if (now === 'error before') return failing
    const answer = await forward()
    return now === 'lose answer' ? cut : now === 'error after' ? failing : answer
  })
  const wrap = (db: Database): Database => ({
    ...db,
    rows: (statement) => around(() => db.rows(statement)),
    row: (statement) => around(() => db.row(statement)),
    run: (statement) => around(() => db.run(statement)),
    transaction: (work, options) => around(() => db.transaction(work, options)),
  })
  return {
    wrap,
    breakNext: (next: Fault) => {
      fault = next
    },
    mend: () => {
      fault = undefined
      mended.resolve()
      mended = Promise.withResolvers<void>()
    },
  }
}

type World = {
  readonly rules: ChainRules
  readonly chain: Chain
  readonly faults: ReturnType<typeof createFaults>
  readonly cannot: Harness['cannot']
  /** The amount that the chain refuses in a block. */
  readonly rejected: Partial<Instruction>
  readonly mine: () => Promise<unknown>
  /** Counts transfers to the address on the chain. */
  readonly transfersTo: (recipient: string) => Promise<number>
  readonly openCalls?: () => number
}

const recipientOf = ({ id }: Instruction) => simulatedHash('recipient', id).slice(0, 42)

async function createHarness(world: World): Promise<Harness> {
  const { rules, chain, faults } = world
  const { clock, chainKeys, sealer } = service
  const partners = [await addPartner(service), await addPartner(service)] as const
  const deps: ChainDeps = {
    db: faults.wrap(service.db),
    clock,
    log: createLog('silent'),
    rules,
    chain,
    signer: chainKeys.signer,
    ownersOf: async () => new Map(),
    operatorId: partners[0].partnerId,
    denied: new Set(),
    sealer,
    partiesOf: async () => ({ originator: { name: 'Test Partner' }, beneficiary: {} }),
  }
  const watcher = createChainConnector({ ...deps, db: service.db })
  return {
    open: async () => ({ connector: createChainConnector(deps), close: async () => undefined }),
    partnerIds: [partners[0].partnerId, partners[1].partnerId],
    currencies: ['USDC', 'EURC'],
    clock,
    cannot: world.cannot ?? [],
    prepare: (instruction, behaviour) => ({
      ...instruction,
      creditorAccount: behaviour === 'refuse' ? zeroAddress : recipientOf(instruction),
      ...(behaviour === 'reject' ? world.rejected : {}),
    }),
    breakNext: faults.breakNext,
    disturb: (disorder) => assert.fail(`a chain cannot ${disorder}`),
    mend: faults.mend,
    letTimePass: async () => {
      clock.advance(pauseMs)
      for (let round = 0; round < confirmations + 1; round += 1) {
        await watcher.step()
        await world.mine()
      }
      while ((await watcher.step()) > 0);
    },
    recordOf: async ({ partnerId, id }) => {
      const row = await service.db.row<ChainRow>(sql`
        select end_to_end_id, amount, currency, creditor_name, recipient, status from rails.chain_transfers
        where partner_id = ${partnerId} and id = ${id} and connector = ${rules.id}`)
      if (row === undefined) return undefined
      const made = await world.transfersTo(row.recipient)
      const { recipient, status, ...rest } = row
      const timesExecuted = status === 'Pending' && made === 0 ? 1 : made
      return { ...rest, creditorAccount: recipient, timesReceived: 1, timesExecuted } satisfies BankRecord
    },
    ...(world.openCalls ? { openCalls: world.openCalls } : {}),
  }
}

type ChainRow = Pick<BankRecord, 'endToEndId' | 'amount' | 'currency' | 'creditorName'> & {
  readonly recipient: string
  readonly status: string
}

const rulesOf = (id: string, chainId: number, tokens: ChainRules['tokens']): ChainRules => ({
  id,
  chainId,
  network: 'test',
  tokens,
  confirmations,
  feeMax: 10n ** 12n,
  stuckAfterMs: 60_000,
  depositMin: {},
})

async function check(harness: Harness, abilities: readonly string[]): Promise<void> {
  const results = await runChecks(harness)
  assert.deepEqual(
    results.filter(({ result }) => result === 'failed').map(({ title, details }) => ({ title, details })),
    [],
  )
  assert.equal(results.length, checks.length)
  const unchecked = results.filter(({ result }) => result === 'not checked')
  for (const { details } of unchecked)
    assert.ok(
      abilities.some((ability) => details.includes(ability)),
      details,
    )
  assert.ok(results.length - unchecked.length >= 20, `${unchecked.length} checks were not run`)
}

test('the connector of a real chain passes every applicable check', async () => {
  const faults = createFaults(proxy)
  const node = createRpcNode({ name: 'test', url: proxy.url, tokens: contracts, timeoutMs: 60_000 })
  const chain = createChain({ nodes: [node], chainId: testChainId, log: createLog('silent') })
  const sender = present(await service.chainKeys.signer(), 'a sandbox makes its keys').address
  for (const currency of ['USDC', 'EURC'] as const) await anvil.fund(sender, plenty, currency)
  await anvil.rpc('anvil_setBalance', sender, `0x${(10n ** 24n).toString(16)}`)
  const harness = await createHarness({
    rules: rulesOf('evm-31337', testChainId, contracts),
    chain,
    faults,
    cannot,
    rejected: { amount: failingAmount },
    mine: () => anvil.mine(),
    transfersTo: async (recipient) => {
      const balances = await Promise.all([anvil.balance(recipient), anvil.balance(recipient, 'EURC')])
      return balances.filter((balance) => balance > 0n).length
    },
    openCalls: proxy.openCalls,
  })
  await check(harness, cannot)
})

test('the connector of the simulated chain passes every applicable check', async () => {
  const { db, clock } = service
  const simulated = createSimulatedChain({ db, clock, blockMs: 1000, confirmations })
  const harness = await createHarness({
    rules: rulesOf('sandbox-chain', simulatedChainId, simulatedTokens),
    chain: simulated.chain,
    faults: createFaults(undefined),
    cannot,
    rejected: { creditorAccount: '0x000000000000000000000000000000000000fA11' },
    mine: () => simulated.makeBlocks(1),
    transfersTo: async (recipient) => {
      const row = await db.row<{ count: bigint }>(sql`
        select count(*) as count from rails.sandbox_chain_transfers
        where recipient = ${recipient} and block_number is not null`)
      return Number(row?.count ?? 0n)
    },
  })
  await check(harness, cannot)
})
