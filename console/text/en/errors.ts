export default {
  known: {
    agreement_required: 'Agree to the video terms first.',
    concurrency_limit_exceeded: 'Your plan runs no more videos at the same time. Try again when one of them is done.',
    csrf_failed: 'The service did not recognise this page as its own. Reload it and try again.',
    file_too_large: 'The file is larger than 100 MB.',
    insufficient_credits: 'The balance does not cover this. Ask an owner to add credit.',
    network_failed: 'The service did not answer. Check the connection and try again.',
    permission_denied: 'Your role does not allow this. Ask an owner or admin.',
    rate_limit_exceeded: 'Too many attempts in a short time. Wait a moment and try again.',
    server_error: 'Something went wrong on our side. Quote the number below when you report it.',
    server_is_overloaded: 'The service is busy or restarting. Try again shortly.',
    upstream_error: 'The model server failed. Try again.',
    upstream_timeout: 'The model server did not answer in time. Try again.',
  },
}
