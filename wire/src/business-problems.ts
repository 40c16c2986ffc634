/** The problem codes of valid requests that a business rule refuses: a part of the catalogue of `problems.ts`. */
export const businessProblems = {
  // 422: valid request, refused by a business rule
  idempotency_key_reused: {
    status: 422,
    title: 'Idempotency key reused with a different request',
    detail: 'The idempotency key belongs to an earlier, different request. Use a new key for a new request.',
  },
  insufficient_funds: {
    status: 422,
    title: 'Insufficient funds',
    detail: 'The available balance is lower than the amount. Fund the balance or send a smaller amount.',
  },
  possible_duplicate: {
    status: 422,
    title: 'Possible duplicate',
    detail:
      'The payout may repeat an earlier payout, or the next payout of a standing order. Check that payout. To pay again, send the request with `onDuplicate` `Allow`.',
  },
  limit_exceeded: {
    status: 422,
    title: 'Limit exceeded',
    detail:
      'The payout is beyond a limit that the operator has set. Send a smaller amount, or wait until the limit resets.',
  },
  beneficiary_cooling_off: {
    status: 422,
    title: 'Beneficiary in cooling-off period',
    detail: 'The beneficiary is new or has a new name. Pay it when the cooling-off period has ended.',
  },
  recall_not_supported: {
    status: 422,
    title: 'Recall not supported',
    detail: 'The rail or the bank of the payout does not support recalls. Ask the recipient to pay the money back.',
  },
  recall_deadline_passed: {
    status: 422,
    title: 'Recall deadline passed',
    detail: 'The last day to request a recall for this reason has passed. Ask the recipient to pay the money back.',
  },
  account_blocked: {
    status: 422,
    title: 'Account blocked',
    detail: 'The operator has blocked or closed the account. Read its state changes, or use another balance.',
  },
  customer_not_verified: {
    status: 422,
    title: 'Customer not verified',
    detail:
      'The verification of the customer does not allow the operation. Read the capabilities of the customer, and complete its KYC.',
  },
  balance_limit_exceeded: {
    status: 422,
    title: 'Maximum balance exceeded',
    detail:
      'The customer would hold more than its verification allows. Send a smaller amount, or have the customer verified.',
  },
  currency_not_supported: {
    status: 422,
    title: 'Currency not supported',
    detail: 'The operation does not support the currency. Use a supported currency.',
  },
  country_not_supported: {
    status: 422,
    title: 'Country not supported',
    detail:
      'The operator does not accept payouts to the country, or customers from it. Use another account or customer.',
  },
  identity_provider_not_configured: {
    status: 422,
    title: 'No identity provider configured',
    detail: 'The operator has not configured an identity provider. Ask the operator how customers are verified.',
  },
  iban_issuer_not_configured: {
    status: 422,
    title: 'No IBAN issuer configured',
    detail: 'No bank that issues IBANs is configured. Ask the operator to configure an issuer.',
  },
  beneficiary_currency_mismatch: {
    status: 422,
    title: 'Beneficiary currency mismatch',
    detail: 'The currency of the payout differs from the currency of the beneficiary. Use the same currency.',
  },
  beneficiary_not_payable: {
    status: 422,
    title: 'Beneficiary cannot receive this payout',
    detail: 'The beneficiary has no bank account. Use a beneficiary with an IBAN.',
  },
  fx_quote_expired: {
    status: 422,
    title: 'Quote expired',
    detail: 'The quote has expired. Request a new quote and accept it before its `expiresAt`.',
  },
  fx_quote_accepted: {
    status: 422,
    title: 'Quote already accepted',
    detail: 'Another transaction has accepted the quote. Request a new quote.',
  },
  wallet_address_not_payable: {
    status: 422,
    title: 'Address cannot receive tokens',
    detail: 'Money sent to the address is lost. Use the address of a wallet.',
  },
  ownership_proof_required: {
    status: 422,
    title: 'Proof of ownership required',
    detail:
      'The amount needs a proof of who controls the wallet. Create a proof by `POST /v1/wallets/ownership-proofs`, or name the provider that keeps the wallet.',
  },
  ownership_proof_expired: {
    status: 422,
    title: 'Proof of ownership expired',
    detail: 'The message was not signed in time. Create another proof for the address.',
  },
  recipient_blocked: {
    status: 422,
    title: 'Recipient blocked',
    detail: 'The address is on a deny list. Use another address.',
  },
  service_account_limit_reached: {
    status: 422,
    title: 'Service account limit reached',
    detail: 'The partner has the maximum number of active service accounts. Revoke one before you create another.',
  },
  webhook_limit_reached: {
    status: 422,
    title: 'Webhook endpoint limit reached',
    detail: 'The partner has the maximum number of webhook subscriptions. Delete one before you create another.',
  },
  webhook_secret_limit_reached: {
    status: 422,
    title: 'Webhook secret limit reached',
    detail:
      'The subscription has the maximum number of active secrets. Wait until one expires, or rotate without overlap.',
  },
  report_format_not_supported: {
    status: 422,
    title: 'Report format not supported',
    detail: 'The kind of report is not available in this format. Use `csv` or `jsonl`, which all kinds support.',
  },
  standing_order_limit_reached: {
    status: 422,
    title: 'Standing order limit reached',
    detail: 'The partner has the maximum number of active standing orders. Cancel or pause one before you add another.',
  },
  monitor_limit_reached: {
    status: 422,
    title: 'Monitor limit reached',
    detail: 'The balance has the maximum number of monitors. Delete one before you create another.',
  },
  report_schedule_limit_reached: {
    status: 422,
    title: 'Report schedule limit reached',
    detail: 'The partner has the maximum number of report schedules. Delete one before you create another.',
  },
  contrast_too_low: {
    status: 422,
    title: 'Contrast too low',
    detail:
      'Text in the colour would be hard to read. Use the colour that the field message names, or a colour with more contrast.',
  },
  line_items_mismatch: {
    status: 422,
    title: 'Line items do not add up',
    detail: 'The amounts of the line items do not add up to the amount of the session. Correct one of them.',
  },
} as const
