/** The canonical query, and the path as called. Interface document, Authentication; contract page, canonical query. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { type Answer, canonicalQuery, listAt, percentEncode, success, textAt } from '../support/client.ts'
import { useSharedService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { createBeneficiary, createCustomer, payoutText, transactionOf } from '../support/world.ts'

const service = await useSharedService()
const { client } = service

const get = (query: string, signedQuery?: string): Promise<Answer> => {
  const call = { method: 'GET', target: `/v1/customers?${query}` }
  return client.send(signedQuery === undefined ? call : { ...call, signed: { query: signedQuery } })
}
const identifiers = (answer: Answer) => listAt(success(answer)).map((item) => item.partnerCustomerIdentifier)

type CanonicalCase = readonly [what: string, sent: string, canonical: string]
/** A query with one filter. */
const filter = (value: string) => `partnerCustomerIdentifier=${value}`
/** The canonical form is written by hand. */
const accepted: readonly CanonicalCase[] = [
  ['sorted by name', `${filter('x')}&limit=5`, `limit=5&${filter('x')}`],
  ['an empty query', '', ''],
  ['reserved characters', filter("!*'();:@$,/?[]"), filter('%21%2A%27%28%29%3B%3A%40%24%2C%2F%3F%5B%5D')],
  ['encoded unreserved characters', filter('%41%2D%2E%5F%7E'), filter('A-._~')],
  ['lower-case hexadecimal', filter('%c3%a4%2f'), filter('%C3%A4%2F')],
  ['a plus sign, which does not mean a space', filter('a+b'), filter('a%2Bb')],
  ['a space', filter('a%20b'), filter('a%20b')],
  ['an equals sign in the value', filter('a=b=c'), filter('a%3Db%3Dc')],
  ['an ampersand in the value', filter('a%26limit%3D9'), filter('a%26limit%3D9')],
  ['a percent sign', filter('100%25'), filter('100%25')],
  ['emoji', filter('%F0%9F%9A%80'), filter('%F0%9F%9A%80')],
  ['combining marks, unchanged', filter('u%CC%88'), filter('u%CC%88')],
  ['an encoded name', '%6Cimit=5', 'limit=5'],
]
for (const [what, sent, canonical] of accepted)
  test(`200 with the canonical query of ${what}`, async () => {
    assert.equal(canonicalQuery(sent), canonical, 'the canonical query of the test client')
    success(await get(sent, canonical))
  })

/** Correctly signed and invalid: 401 would mean that the canonical form differs. */
const invalid: readonly CanonicalCase[] = [
  ['duplicates sorted by value', 'limit=9&limit=10', 'limit=10&limit=9'],
  ['equal duplicates, both kept', 'limit=9&limit=9', 'limit=9&limit=9'],
  ['an empty value, kept', 'limit=', 'limit='],
  ['a name without an equals sign', 'limit', 'limit='],
  ['an unknown name', 'zeta=1&alpha=2', 'alpha=2&zeta=1'],
  ['upper before lower case', 'b=1&B=2&a=3', 'B=2&a=3&b=1'],
  ['an empty name', '=1', '=1'],
  ['list brackets', 'a[]=1&a[0]=2', 'a%5B%5D=1&a%5B0%5D=2'],
]
for (const [what, sent, canonical] of invalid)
  test(`400, not 401, with the canonical query of ${what}`, async () => {
    assert.equal(canonicalQuery(sent), canonical, 'the canonical query of the test client')
    assertProblem(await get(sent, canonical), {
      status: 400,
      code: ['validation_failed', 'unknown_field', 'duplicate_key', 'malformed_request'],
    })
  })

const notCanonical: readonly (readonly [what: string, sent: string, signed: string])[] = [
  ['unsorted', `${filter('x')}&limit=5`, `${filter('x')}&limit=5`],
  ['with its question mark', 'limit=5', '?limit=5'],
  ['not encoded', filter("!'"), filter("!'")],
  ['with a plus sign for a space', filter('a%20b'), filter('a+b')],
  ['with a space for a plus sign', filter('a+b'), filter('a%20b')],
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

test('400 or 401 when the percent-encoding is invalid', async () => {
  for (const query of ['limit=%', 'limit=%zz', 'partnerCustomerIdentifier=%ff', '%c3=1', 'a=%E2%82']) {
    const answer = await get(query, query)
    assertProblem(answer, { status: answer.status === 400 ? 400 : 401 })
  }
})

test('200 with the matching customer for each encoding of a filter', async () => {
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
  assert.deepEqual(
    identifiers(await get('partnerCustomerIdentifier=a+b')),
    ['a+b'],
    'an unencoded plus sign is a plus sign',
  )
})

test('200 to a transaction whose reference needs encoding, signed with the path as sent', async () => {
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  for (const suffix of ['/12 2026', ' Ünïcode', '?a=1&b=2', '#1', '%41', '+1', '..', '\'"<>']) {
    const reference = `${randomUUID().slice(0, 8)}${suffix}`
    const paid = success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '1.00', { reference })))
    assert.equal(paid.reference, reference)
    assert.equal((await transactionOf(client, reference)).reference, reference)
    const lowerCase = percentEncode(reference).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())
    const answer = await client.get(`/v1/transactions/${lowerCase}`)
    assert.equal(success(answer).reference, reference, 'the same path in lower-case hexadecimal')
  }
})

test('401 when the signed path has another encoding than the path of the request', async () => {
  const target = '/v1/transactions/a%2Fb'
  for (const path of ['/v1/transactions/a/b', '/v1/transactions/a%2fb', '/v1/transactions/a%252Fb'])
    assertProblem(await client.send({ method: 'GET', target, signed: { path } }), {
      status: 401,
      code: 'signature_invalid',
    })
})
