/** The canonical query, and the path as called. Interface document, Authentication; contract page, canonical query. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { type Answer, canonicalQuery, listAt, percentEncode, success, textAt } from '../support/client.ts'
import { assertProblem } from '../support/problem.ts'
import { startTestService } from '../support/service.ts'
import { createBeneficiary, createCustomer, payoutText, transactionOf } from '../support/world.ts'

const service = await startTestService()
after(() => service.dispose())
const { client } = service

const get = (query: string, signedQuery?: string): Promise<Answer> => {
  const call = { method: 'GET', target: `/v1/customers?${query}` }
  return client.send(signedQuery === undefined ? call : { ...call, signed: { query: signedQuery } })
}
const identifiers = (answer: Answer) => listAt(success(answer)).map((item) => item.partnerCustomerIdentifier)

/** What is sent, and the canonical form written out by hand. */
const canonical: readonly (readonly [string, string, string])[] = [
  ['sorted by name', 'partnerCustomerIdentifier=x&limit=5', 'limit=5&partnerCustomerIdentifier=x'],
  ['nothing after the question mark', '', ''],
  [
    'reserved characters',
    "partnerCustomerIdentifier=!*'();:@$,/?[]",
    'partnerCustomerIdentifier=%21%2A%27%28%29%3B%3A%40%24%2C%2F%3F%5B%5D',
  ],
  [
    'unreserved characters that came encoded',
    'partnerCustomerIdentifier=%41%2D%2E%5F%7E',
    'partnerCustomerIdentifier=A-._~',
  ],
  ['lower-case hexadecimal', 'partnerCustomerIdentifier=%c3%a4%2f', 'partnerCustomerIdentifier=%C3%A4%2F'],
  ['a plus sign, which is a plus sign', 'partnerCustomerIdentifier=a+b', 'partnerCustomerIdentifier=a%2Bb'],
  ['a space', 'partnerCustomerIdentifier=a%20b', 'partnerCustomerIdentifier=a%20b'],
  ['an equals sign in the value', 'partnerCustomerIdentifier=a=b=c', 'partnerCustomerIdentifier=a%3Db%3Dc'],
  ['an ampersand in the value', 'partnerCustomerIdentifier=a%26limit%3D9', 'partnerCustomerIdentifier=a%26limit%3D9'],
  ['a percent sign', 'partnerCustomerIdentifier=100%25', 'partnerCustomerIdentifier=100%25'],
  ['emoji', 'partnerCustomerIdentifier=%F0%9F%9A%80', 'partnerCustomerIdentifier=%F0%9F%9A%80'],
  ['combining marks, as they came', 'partnerCustomerIdentifier=u%CC%88', 'partnerCustomerIdentifier=u%CC%88'],
  ['an encoded name', '%6Cimit=5', 'limit=5'],
]
for (const [what, sent, expected] of canonical)
  test(`200 with the canonical query of ${what}`, async () => {
    assert.equal(canonicalQuery(sent), expected, "the suite's own client")
    success(await get(sent, expected))
  })

/** Signed right, and refused for what they ask: 401 would mean that the canonical form differs. */
const invalid: readonly (readonly [string, string, string])[] = [
  ['duplicates sorted by value', 'limit=9&limit=10', 'limit=10&limit=9'],
  ['equal duplicates, both kept', 'limit=9&limit=9', 'limit=9&limit=9'],
  ['an empty value, kept', 'limit=', 'limit='],
  ['a name without an equals sign', 'limit', 'limit='],
  ['an unknown name', 'zeta=1&alpha=2', 'alpha=2&zeta=1'],
  ['upper before lower case', 'b=1&B=2&a=3', 'B=2&a=3&b=1'],
  ['an empty name', '=1', '=1'],
  ['an empty value, kept', 'limit=', 'limit='],
  ['a name without an equals sign', 'limit', 'limit='],
  ['list brackets', 'a[]=1&a[0]=2', 'a%5B%5D=1&a%5B0%5D=2'],
]
for (const [what, sent, expected] of invalid)
  test(`400, not 401, with the canonical query of ${what}`, async () => {
    assert.equal(canonicalQuery(sent), expected, "the suite's own client")
    assertProblem(await get(sent, expected), {
      status: 400,
      code: ['validation_failed', 'unknown_field', 'duplicate_key', 'malformed_request'],
    })
  })

const notCanonical: readonly (readonly [string, string, string])[] = [
  ['unsorted', 'partnerCustomerIdentifier=x&limit=5', 'partnerCustomerIdentifier=x&limit=5'],
  ['with its question mark', 'limit=5', '?limit=5'],
  ['not encoded', "partnerCustomerIdentifier=!'", "partnerCustomerIdentifier=!'"],
  ['with a plus sign for a space', 'partnerCustomerIdentifier=a%20b', 'partnerCustomerIdentifier=a+b'],
  ['with a space for a plus sign', 'partnerCustomerIdentifier=a+b', 'partnerCustomerIdentifier=a%20b'],
  ['with a duplicate left out', 'limit=9&limit=9', 'limit=9'],
  ['with an empty value left out', 'limit=5&email=', 'limit=5'],
  ['of another query', 'limit=5', 'limit=6'],
  ['of no query', 'limit=5', ''],
  ['of a query that was not sent', '', 'limit=5'],
]
for (const [what, sent, signed] of notCanonical)
  test(`401 when the signed query is ${what}`, async () => {
    assertProblem(await get(sent, signed), { status: 401, code: 'signature_invalid' })
  })

test('400 or 401, never a crash, when the percent-encoding is broken', async () => {
  for (const query of ['limit=%', 'limit=%zz', 'partnerCustomerIdentifier=%ff', '%c3=1', 'a=%E2%82']) {
    const answer = await get(query, query)
    assertProblem(answer, { status: answer.status === 400 ? 400 : 401 })
  }
})

test('200 and the right customer for each spelling of a filter', async () => {
  const names = [
    'a+b',
    'a b',
    'a%2Bb',
    'ä',
    'a\u0308',
    'Z\u00fcrich/7?x=1&y=2#z',
    '100%',
    '\u{1f680}',
    "O'Neil; drop table",
  ]
  for (const name of names) await createCustomer(client, { partnerCustomerIdentifier: name })
  for (const name of names) {
    const found = await get(`partnerCustomerIdentifier=${percentEncode(name)}`)
    assert.deepEqual(identifiers(found), [name])
  }
  assert.deepEqual(identifiers(await get('partnerCustomerIdentifier=a+b')), ['a+b'], 'a raw plus sign is a plus sign')
})

test('200 to a transaction whose reference needs encoding, signed with the path as called', async () => {
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  for (const suffix of ['/12 2026', ' Ünïcode', '?a=1&b=2', '#1', '%41', '+1', '..', '\'"<>']) {
    const reference = `${randomUUID().slice(0, 8)}${suffix}`
    const paid = success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '1.00', { reference })))
    assert.equal(paid.reference, reference)
    assert.equal((await transactionOf(client, reference)).reference, reference)
    const lowerCase = percentEncode(reference).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())
    const answer = await client.get(`/v1/transactions/${lowerCase}`)
    assert.equal(success(answer).reference, reference, 'the same in lower-case hexadecimal, signed as called')
  }
})

test('401 when the path was signed in another spelling than it was called in', async () => {
  const target = '/v1/transactions/a%2Fb'
  for (const path of ['/v1/transactions/a/b', '/v1/transactions/a%2fb', '/v1/transactions/a%252Fb'])
    assertProblem(await client.send({ method: 'GET', target, signed: { path } }), {
      status: 401,
      code: 'signature_invalid',
    })
})
