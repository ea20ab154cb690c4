#!/bin/sh
# Writes the images that the compose files and kustomization.yaml use to .env, with the digests
# that their tags have today: from then on the same images run, whatever becomes of the tags.
# Other lines of .env stay.
#   ./pin_images.sh        TensorFlow Serving for CPUs
#   ./pin_images.sh gpu    TensorFlow Serving for NVIDIA GPUs
# Needs docker with buildx, which asks the registry and downloads no image.
set -eu
cd "$(dirname "$0")"

pinned() {
    digest=$(docker buildx imagetools inspect "$1" | sed -n 's/^Digest: *//p')
    if ! printf '%s\n' "$digest" | grep -Eqx 'sha256:[0-9a-f]{64}'; then
        echo "pin_images.sh: no digest is known for $1; .env is as it was" >&2
        return 1
    fi
    printf '%s@%s\n' "$1" "$digest"
}

case ${1-} in
    "") tag=2.21.0 ;;
    gpu) tag=2.21.0-gpu ;;
    *) echo "usage: pin_images.sh [gpu]" >&2; exit 2 ;;
esac
serving=$(pinned "tensorflow/serving:$tag")
nginx=$(pinned nginx:1.30-alpine)
prometheus=$(pinned prom/prometheus:v3.5.0)
grafana=$(pinned grafana/grafana:12.2.0)
others=
if [ -e .env ]; then
    # grep ends with 1 without other lines, and with 2 if it cannot read the file.
    others=$(grep -Ev '^(TF_SERVING|NGINX|PROMETHEUS|GRAFANA)_IMAGE=' .env) || [ $? -eq 1 ] || exit 1
fi
new=$(mktemp ./.env.XXXXXX) # other lines may hold a password: mktemp's file is private
trap 'rm -f "$new"' EXIT
cat >"$new" <<END
TF_SERVING_IMAGE=$serving
NGINX_IMAGE=$nginx
PROMETHEUS_IMAGE=$prometheus
GRAFANA_IMAGE=$grafana${others:+
$others}
END
mv "$new" .env
grep -E '^(TF_SERVING|NGINX|PROMETHEUS|GRAFANA)_IMAGE=' .env # and no password
