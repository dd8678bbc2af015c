# diarize, with its weights, in an image that never needs the network:
#     docker build -t diarize .
#     docker run --rm --network none -v "$PWD:/data" diarize run meeting.wav --out meeting.rttm
FROM python:3.11-slim

COPY pyproject.toml constraints.txt README.md LICENSE THIRD_PARTY.md /src/
COPY models /src/models
COPY diarize /src/diarize
# The index has the build of torch without CUDA, which is smaller by several gigabytes.
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
        -c /src/constraints.txt "/src[av,plot]" \
    && rm -rf /src \
    && useradd --create-home diarize

USER diarize
WORKDIR /data
ENTRYPOINT ["diarize"]
CMD ["--help"]
