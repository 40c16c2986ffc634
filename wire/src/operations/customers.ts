/** The operations of the group `customers`. */
import * as customers from '../customers.ts'
import { CustomerCapabilities, CustomerVerification } from '../verification.ts'
import { emailPlaceholder, resource, uniqueText } from './example.ts'
import type { Operation } from './operation.ts'
import { customerId } from './params.ts'

const fullKyc = {
  addressLine1: '12 St James Square',
  city: 'London',
  citizenshipCountryCode: 'GB',
  dateOfBirth: '1815-12-10',
  fullName: 'Ada Lovelace',
  uboFirstName1: 'Annabella',
  uboLastName1: 'Byron',
  personalIdentificationNumber: 'QQ123456C',
} as const

export const customersOperations = {
  createCustomer: {
    tag: 'customers',
    method: 'POST',
    path: '/v1/customers',
    body: customers.CustomerCreate,
    response: customers.Customer,
    idempotency: 'header',
    makes: { id: 'guid' },
    permission: 'customers:write',
    source: 'extension',
    summary: 'Create a customer',
    description:
      'Creates a customer with its KYC data. At least one of `email`, `partnerCustomerIdentifier` and `kyc` is ' +
      'required. Without `customerType`, the service derives the type from the KYC fields. `email` need not be unique. ' +
      'A second customer with the same `partnerCustomerIdentifier` is refused with 409 `customer_exists`, which names the first. Idempotent by `Idempotency-Key`; without a key a repeated request ' +
      'creates a second customer, or is refused with 409 if it has an identifier.',
    refusals: ['validation_failed', 'customer_exists', 'country_not_supported'],
    example: {
      body: {
        email: emailPlaceholder,
        partnerCustomerIdentifier: uniqueText('customer-42'),
        customerType: 'Individual',
        kyc: { fullName: 'Ada Lovelace', dateOfBirth: '1990-12-10', citizenshipCountryCode: 'GB', city: 'London' },
      },
      fullBody: {
        email: emailPlaceholder,
        partnerCustomerIdentifier: uniqueText(),
        customerType: 'Individual',
        kyc: fullKyc,
      },
    },
  },
  listCustomers: {
    tag: 'customers',
    method: 'GET',
    path: '/v1/customers',
    query: customers.CustomerQuery,
    response: customers.CustomerPage,
    permission: 'customers:read',
    sensitive: true,
    source: 'extension',
    summary: 'List customers',
    description:
      "Returns the partner's customers, newest first. Filters combine. The email filter ignores case. `namePrefix` finds " +
      'customers by the beginning of a word of a name, `verificationState` those whose KYC is not complete. With `updatedSince`, the list has the latest change first. To ' +
      'follow changes, read all pages, and later repeat with the time at which you began. A cursor of a list with ' +
      '`updatedSince` continues only such a list.',
    refusals: [],
    example: {},
  },
  getCustomer: {
    tag: 'customers',
    method: 'GET',
    path: '/v1/customers/{id}',
    params: customerId,
    response: customers.Customer,
    permission: 'customers:read',
    sensitive: true,
    source: 'documented',
    summary: 'Retrieve a customer',
    description:
      'Returns a customer by its `guid` or its `serviceId`. The response omits `personalIdentificationNumber`.',
    refusals: ['not_found'],
    example: { params: { id: resource('customer') } },
  },
  getCustomerVerification: {
    tag: 'customers',
    method: 'GET',
    path: '/v1/customers/{id}/verification',
    params: customerId,
    response: CustomerVerification,
    permission: 'customers:read',
    sensitive: true,
    source: 'extension',
    summary: 'Retrieve the verification of a customer',
    description:
      'Checks each KYC field by rules, at the time of the request. Rules cover the check digits of the LEI (ISO 17442), phone ' +
      'numbers, websites, dates, ages, owners and the required fields of each customer type. They cover the tax numbers of AT, BE, ' +
      'DE, ES, FR, GB, IT, NL, PL and PT. An invalid or missing field has a `code` and a `remediation`. The rules do not query registers. Identity ' +
      'verifications of the customer count as well: a field that the provider has matched is `Valid`.',
    refusals: ['not_found'],
    example: { params: { id: resource('customer') } },
  },
  getCustomerCapabilities: {
    tag: 'customers',
    method: 'GET',
    path: '/v1/customers/{id}/capabilities',
    params: customerId,
    response: CustomerCapabilities,
    permission: 'customers:read',
    sensitive: true,
    source: 'extension',
    summary: 'Retrieve the capabilities of a customer',
    description:
      'Returns whether the customer may open an account, receive money and make payouts, with every reason against it. `fields` are the KYC ' +
      'fields to correct. The operator decides what each state of verification allows. If a customer may not receive money, ' +
      'the operator holds it until a person decides. `GET /v1/payouts/limits?customerId=` has the limits of a customer.',
    refusals: ['not_found'],
    example: { params: { id: resource('customer') } },
  },
  listCustomerChanges: {
    tag: 'customers',
    method: 'GET',
    path: '/v1/customers/{id}/history',
    params: customerId,
    query: customers.CustomerChangeQuery,
    response: customers.CustomerChangePage,
    permission: 'customers:read',
    sensitive: true,
    source: 'extension',
    summary: 'List the changes of a customer',
    description:
      'Returns who changed which fields of the customer, when, and the values before and after, newest first. An update ' +
      'without a changed value is not listed. The history of an older customer begins when the service began to record ' +
      'changes, without `Created`.',
    refusals: ['not_found'],
    example: { params: { id: resource('customer') } },
  },
  exportCustomer: {
    tag: 'customers',
    method: 'GET',
    path: '/v1/customers/{id}/export',
    params: customerId,
    content: ['application/jsonl'],
    streamed: true,
    permission: 'customers:read',
    sensitive: true,
    source: 'extension',
    summary: 'Export the data of a customer',
    description:
      'Streams all data about the customer, for a request of the data subject (GDPR, Art. 15 and 20), as one JSON object ' +
      'per line: `{"type", "data"}`. The first line has the type `export` and lists what is omitted, and why. The other types are ' +
      '`customer`, `change`, `identityVerification`, `account`, `wallet`, `beneficiary`, `transaction`, `deposit`, `payout`, `checkoutSession`, ' +
      '`quote`, `screening` and `auditRecord`. The last line is `end`: an export without it is not complete. A partner ' +
      'may read two exports at once (429). A stream that the client does not read for a minute is aborted. The audit log ' +
      'records each export.',
    refusals: ['not_found'],
    example: { params: { id: resource('customer') } },
  },
  eraseCustomer: {
    tag: 'customers',
    method: 'POST',
    path: '/v1/customers/{id}/erase',
    params: customerId,
    body: customers.CustomerErase,
    response: customers.CustomerErasure,
    idempotency: 'kept',
    permission: 'customers:write',
    source: 'extension',
    summary: 'Erase a customer',
    description:
      'Erases the personal data of a customer (GDPR, Art. 17). It cannot be undone. Refused (409) while a payment is pending, ' +
      'while the customer has a balance, or while the service must keep its data. If the customer had payments, names, ' +
      'dates, addresses and identifiers are kept with them until five years after the last one (AMLD, Art. 40). Everything ' +
      'else is erased at once, except what ends by its own age: events, and reports that are not about this customer ' +
      'alone. For other operations the customer no longer exists: 404. Lists of payments still accept ' +
      'its identifier as a filter. Idempotent: repeat the request to read the state of the erasure.',
    refusals: ['validation_failed', 'not_found', 'customer_not_erasable'],
    example: { params: { id: resource('erasable') }, body: { nothingOwed: true } },
  },
  updateCustomer: {
    tag: 'customers',
    method: 'PUT',
    path: '/v1/customers/{id}',
    params: customerId,
    body: customers.CustomerUpdate,
    response: customers.Customer,
    permission: 'customers:write',
    source: 'documented',
    summary: 'Update a customer',
    description:
      'Merges the request into the customer: a given field is set, `null` clears a field, and an absent field is ' +
      'unchanged. At least one field is required. Idempotent: a repeated request has no further effect.',
    refusals: ['validation_failed', 'not_found', 'customer_exists', 'country_not_supported'],
    example: {
      params: { id: resource('customer') },
      body: { kyc: { addressLine1: '12 St James Square', city: 'London', mobilePhone: null } },
      fullBody: { email: emailPlaceholder, partnerCustomerIdentifier: uniqueText(), kyc: fullKyc },
    },
  },
} as const satisfies Record<string, Operation>
