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

type CanonicalCase = { readonly what: string; readonly sent: string; readonly canonical: string }
/** The canonical form is written by hand. */
const accepted: readonly CanonicalCase[] = [
  {
    what: 'sorted by name',
    sent: 'partnerCustomerIdentifier=x&limit=5',
    canonical: 'limit=5&partnerCustomerIdentifier=x',
  },
  { what: 'an empty query', sent: '', canonical: '' },
  {
    what: 'reserved characters',
    sent: "partnerCustomerIdentifier=!*'();:@$,/?[]",
    canonical: 'partnerCustomerIdentifier=%21%2A%27%28%29%3B%3A%40%24%2C%2F%3F%5B%5D',
  },
  {
    what: 'encoded unreserved characters',
    sent: 'partnerCustomerIdentifier=%41%2D%2E%5F%7E',
    canonical: 'partnerCustomerIdentifier=A-._~',
  },
  {
    what: 'lower-case hexadecimal',
    sent: 'partnerCustomerIdentifier=%c3%a4%2f',
    canonical: 'partnerCustomerIdentifier=%C3%A4%2F',
  },
  {
    what: 'a plus sign, which does not mean a space',
    sent: 'partnerCustomerIdentifier=a+b',
    canonical: 'partnerCustomerIdentifier=a%2Bb',
  },
  { what: 'a space', sent: 'partnerCustomerIdentifier=a%20b', canonical: 'partnerCustomerIdentifier=a%20b' },
  {
    what: 'an equals sign in the value',
    sent: 'partnerCustomerIdentifier=a=b=c',
    canonical: 'partnerCustomerIdentifier=a%3Db%3Dc',
  },
  {
    what: 'an ampersand in the value',
    sent: 'partnerCustomerIdentifier=a%26limit%3D9',
    canonical: 'partnerCustomerIdentifier=a%26limit%3D9',
  },
  { what: 'a percent sign', sent: 'partnerCustomerIdentifier=100%25', canonical: 'partnerCustomerIdentifier=100%25' },
  {
    what: 'emoji',
    sent: 'partnerCustomerIdentifier=%F0%9F%9A%80',
    canonical: 'partnerCustomerIdentifier=%F0%9F%9A%80',
  },
  {
    what: 'combining marks, unchanged',
    sent: 'partnerCustomerIdentifier=u%CC%88',
    canonical: 'partnerCustomerIdentifier=u%CC%88',
  },
  { what: 'an encoded name', sent: '%6Cimit=5', canonical: 'limit=5' },
]
for (const { what, sent, canonical } of accepted)
  test(`200 with the canonical query of ${what}`, async () => {
    assert.equal(canonicalQuery(sent), canonical, 'the canonical query of the test client')
    success(await get(sent, canonical))
  })

/** Correctly signed and invalid: 401 would mean that the canonical form differs. */
const invalid: readonly CanonicalCase[] = [
  { what: 'duplicates sorted by value', sent: 'limit=9&limit=10', canonical: 'limit=10&limit=9' },
  { what: 'equal duplicates, both kept', sent: 'limit=9&limit=9', canonical: 'limit=9&limit=9' },
  { what: 'an empty value, kept', sent: 'limit=', canonical: 'limit=' },
  { what: 'a name without an equals sign', sent: 'limit', canonical: 'limit=' },
  { what: 'an unknown name', sent: 'zeta=1&alpha=2', canonical: 'alpha=2&zeta=1' },
  { what: 'upper before lower case', sent: 'b=1&B=2&a=3', canonical: 'B=2&a=3&b=1' },
  { what: 'an empty name', sent: '=1', canonical: '=1' },
  { what: 'list brackets', sent: 'a[]=1&a[0]=2', canonical: 'a%5B%5D=1&a%5B0%5D=2' },
]
for (const { what, sent, canonical } of invalid)
  test(`400, not 401, with the canonical query of ${what}`, async () => {
    assert.equal(canonicalQuery(sent), canonical, 'the canonical query of the test client')
    assertProblem(await get(sent, canonical), {
      status: 400,
      code: ['validation_failed', 'unknown_field', 'duplicate_key', 'malformed_request'],
    })
  })

const notCanonical: readonly { readonly what: string; readonly sent: string; readonly signed: string }[] = [
  { what: 'unsorted', sent: 'partnerCustomerIdentifier=x&limit=5', signed: 'partnerCustomerIdentifier=x&limit=5' },
  { what: 'with its question mark', sent: 'limit=5', signed: '?limit=5' },
  { what: 'not encoded', sent: "partnerCustomerIdentifier=!'", signed: "partnerCustomerIdentifier=!'" },
  {
    what: 'with a plus sign for a space',
    sent: 'partnerCustomerIdentifier=a%20b',
    signed: 'partnerCustomerIdentifier=a+b',
  },
  {
    what: 'with a space for a plus sign',
    sent: 'partnerCustomerIdentifier=a+b',
    signed: 'partnerCustomerIdentifier=a%20b',
  },
  { what: 'with a duplicate left out', sent: 'limit=9&limit=9', signed: 'limit=9' },
  { what: 'with an empty value left out', sent: 'limit=5&email=', signed: 'limit=5' },
  { what: 'of another query', sent: 'limit=5', signed: 'limit=6' },
  { what: 'of no query', sent: 'limit=5', signed: '' },
  { what: 'of a query that was not sent', sent: '', signed: 'limit=5' },
]
for (const { what, sent, signed } of notCanonical)
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
