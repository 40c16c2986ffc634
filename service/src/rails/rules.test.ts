import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChooseConnector } from './rules.ts'
import { railsSettings } from './settings.ts'

const partnerId = '0190a000-0000-7000-8000-000000000001'
const otherId = '0190a000-0000-7000-8000-000000000002'
const read = railsSettings.RAIL_RULES.read

test('the first rule that matches decides, and without one RAIL does', () => {
  const choose = createChooseConnector(read(`${partnerId}/Swift=sandbox, Swift/USD=none, GBP=none`), 'sandbox')
  const swift = { rail: 'Swift', currency: 'USD' } as const
  assert.equal(choose({ partnerId, ...swift }), 'sandbox')
  assert.equal(choose({ partnerId: otherId, ...swift }), undefined)
  assert.equal(choose({ partnerId: otherId, rail: 'Swift', currency: 'GBP' }), undefined)
  assert.equal(choose({ partnerId: otherId, rail: 'Sepa', currency: 'EUR' }), 'sandbox')
  assert.equal(createChooseConnector([], null)({ partnerId, ...swift }), undefined)
})

test('a chain carries tokens only, and a bank none', () => {
  const choose = createChooseConnector(
    read(`${partnerId}=sandbox, USDC=evm-8453, EURC=none, Wallet/EUR=evm-1`),
    'sandbox',
    () => 'sandbox-chain',
  )
  const token = { partnerId, rail: 'Wallet', currency: 'USDC' } as const
  assert.equal(choose(token), 'evm-8453')
  assert.equal(choose({ ...token, currency: 'EURC' }), undefined)
  assert.equal(choose({ partnerId: otherId, rail: 'Sepa', currency: 'EUR' }), 'sandbox')
  const plain = createChooseConnector(read(`${partnerId}=sandbox`), 'sandbox', () => 'sandbox-chain')
  assert.equal(plain(token), 'sandbox-chain')
  assert.equal(createChooseConnector([], 'sandbox')(token), undefined)
})

for (const [text, reason] of [
  ['Swift', /must be rules such as Swift\/USD=none/],
  ['Swift=bank', /with a connector of sandbox, none, iso20022, iso20022-<name>, sandbox-chain/],
  ['Swift=none=none', /must be rules/],
  ['=none', /: {2}is none of them|must name rails/],
  ['swift=none', /swift is none of them/],
  ['XAU=none', /XAU is none of them/],
  ['Wallet=evm-0', /evm-<chain id>/],
  ['Swift/Sepa=none', /once in a rule: Swift\/Sepa/],
] as const)
  test(`RAIL_RULES refuses ${text}`, () => assert.throws(() => read(text), reason))

test('RAIL_RULES may be empty', () => assert.deepEqual([read(undefined), read(' ')], [[], []]))
